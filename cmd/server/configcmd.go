package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"

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
			faults = append(faults, bridgeSecrets(f)...)
			if err := errors.Join(faults...); err != nil {
				return err
			}
			if c.json {
				return printJSON(cmd, map[string]any{"ok": true, "accounts": names, "bridges": slices.Sorted(maps.Keys(f.Bridges))})
			}
			if err := printBridges(cmd, f); err != nil {
				return err
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

// bridgeSecrets reads what bridges need and tells what cannot be read.
func bridgeSecrets(f config.File) []error {
	var faults []error
	note := func(at string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", at, err))
		}
	}
	readable := func(at, path string) {
		if path == "" {
			return
		}
		file, err := os.Open(path)
		if err == nil {
			err = file.Close()
		}
		note(at, err)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Bridges)) {
		at := "bridges." + name
		if t := f.Bridges[name].TLS; t != nil {
			readable(at+".tls.ca", t.CA)
			readable(at+".tls.cert", t.Cert)
			readable(at+".tls.key", t.Key)
		}
		if c := f.Bridges[name].Credentials; c != nil {
			readable(at+".credentials.file", c.File)
			readable(at+".credentials.nkey", c.NKey)
			_, err := c.Token.Read()
			note(at+".credentials.token", err)
			_, err = c.Password.Read()
			note(at+".credentials.password", err)
		}
	}
	return faults
}

func printBridges(cmd *cobra.Command, f config.File) error {
	if len(f.Bridges) == 0 {
		return nil
	}
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(f.Bridges)) {
		b := f.Bridges[name]
		rows = append(rows, []any{name, b.Broker, b.URL, b.Stream, strings.Join(b.Subjects, ","), b.Tenants})
	}
	if err := printTable(cmd, "BRIDGE\tBROKER\tURL\tSTREAM\tSUBJECTS\tTENANTS", rows); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return nil
}
