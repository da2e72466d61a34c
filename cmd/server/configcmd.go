package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the configuration"}
	var c common
	check := &cobra.Command{
		Use: "check FILE", Short: "Check a configuration file and list all its faults", Args: cobra.ExactArgs(1),
		Long:    "Reads the file and the secrets that it refers to, and prints the accounts and bridges. Secrets are never printed.",
		Example: "  refundry config check refundry.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := config.Load(args[0], configKinds())
			if err != nil {
				return err
			}
			accounts, bridges, err := readSettings(f)
			if err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd, map[string]any{"ok": true, "accounts": slices.Sorted(maps.Keys(f.Accounts)), "bridges": slices.Sorted(maps.Keys(f.Bridges))})
			}
			if len(bridges) > 0 {
				if err := printTable(cmd, "BRIDGE\tBROKER\tTENANTS\tSETTINGS", bridges); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout())
			}
			return printTable(cmd, "ACCOUNT\tCHANNEL\tTENANTS\tCONTRACT\tSETTINGS", accounts)
		},
	}
	check.Flags().BoolVar(&c.json, "json", false, "print the result as JSON")
	cmd.AddCommand(check)
	return cmd
}

// readSettings decodes the settings of every account and bridge by its kind, reads the secrets that they refer to, and returns table
// rows. The error lists every secret that cannot be read.
func readSettings(f config.File) (accounts, bridges [][]any, err error) {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(f.Accounts)) {
		a := f.Accounts[name]
		kind, _ := channelKind(a.Channel)
		s, err := kind.DecodeSettings(a.Settings.Node())
		if err != nil {
			return nil, nil, config.At("accounts."+name, err)
		}
		faults = append(faults, config.At("accounts."+name, s.CheckSecrets()))
		accounts = append(accounts, []any{name, a.Channel, a.Tenants, a.Contract.Profile, s.Summary()})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Bridges)) {
		b := f.Bridges[name]
		kind, _ := brokerKind(b.Broker)
		s, err := kind.DecodeSettings(b.Settings.Node())
		if err != nil {
			return nil, nil, config.At("bridges."+name, err)
		}
		faults = append(faults, config.At("bridges."+name, s.CheckSecrets()))
		bridges = append(bridges, []any{name, b.Broker, b.Tenants, s.Summary()})
	}
	return accounts, bridges, errors.Join(faults...)
}
