package main

import (
	"errors"
	"fmt"
	"sort"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at configuration"}
	var c common
	check := &cobra.Command{
		Use: "check FILE", Short: "Say everything that is wrong with a configuration file", Args: cobra.ExactArgs(1),
		Long:    "Reads the file and the secrets that it names, and shows what it means. Secrets are never shown.",
		Example: "  refundry config check refundry.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := config.Load(args[0])
			if err != nil {
				return err
			}
			var faults []error
			names := make([]string, 0, len(f.Accounts))
			for name := range f.Accounts {
				names = append(names, name)
			}
			sort.Strings(names)
			for _, name := range names {
				if _, err := f.Accounts[name].Secret.Read(); err != nil {
					faults = append(faults, fmt.Errorf("accounts.%s: %w", name, err))
				}
			}
			if err := errors.Join(faults...); err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd, map[string]any{"ok": true, "accounts": names})
			}
			var rows [][]any
			for _, name := range names {
				a := f.Accounts[name]
				secret := "none"
				if a.Secret != nil {
					secret = "set"
				}
				rows = append(rows, []any{name, a.Channel, a.Endpoint, a.Tenants, a.Contract.Profile, secret})
			}
			return printTable(cmd, "ACCOUNT\tCHANNEL\tENDPOINT\tTENANTS\tCONTRACT\tSECRET", rows)
		},
	}
	check.Flags().BoolVar(&c.json, "json", false, "print data as JSON")
	cmd.AddCommand(check)
	return cmd
}
