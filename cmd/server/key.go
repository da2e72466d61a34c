package main

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

// scopes are all scopes of API keys.
var scopes = access.Scopes()

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Create, list and revoke API keys",
		Long: `A key belongs to an actor of a tenant. All keys of an actor stand for the same actor: whoever proposed a decision cannot approve
it with another key.`}
	cmd.AddCommand(keyAddCommand(), keyListCommand(), keyRevokeCommand())
	return cmd
}

func keyAddCommand() *cobra.Command {
	var c common
	var actor, kind string
	var wanted []string
	var validFor time.Duration
	cmd := &cobra.Command{
		Use: "add TENANT", Short: "Create an API key and print it once", Args: cobra.ExactArgs(1),
		Example: `  refundry key add shop-eu --actor checkout --scopes refunds:write,refunds:read
  refundry key add shop-eu --actor maria --kind person --scopes refunds:read,cases:decide --valid-for 2160h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyFlags(actor, kind, wanted, validFor); err != nil {
				return err
			}
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				t, err := s.Tenant(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("tenant %s: %w", args[0], err)
				}
				n := store.NewKey{Tenant: t, Actor: actor, Kind: kind, Scopes: wanted}
				if validFor > 0 {
					n.ExpiresAt = time.Now().Add(validFor)
				}
				key, err := access.NewAPIKey(rand.Reader, t.Mode)
				if err != nil {
					return err
				}
				if err := s.AddKey(cmd.Context(), n, key); err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, map[string]any{"key": key.Reveal(), "prefix": key.Prefix, "tenant": t.Code, "actor": actor, "scopes": wanted})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n", key.Reveal())
				fmt.Fprintln(cmd.ErrOrStderr(), "The key is shown only now: it is not stored.")
				return nil
			})
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&actor, "actor", "", "name of the system or person that uses the key; a new name creates the actor (required)")
	cmd.Flags().StringVar(&kind, "kind", "system", "kind of a new actor: system or person")
	cmd.Flags().StringSliceVar(&wanted, "scopes", []string{access.ScopeRefundsWrite, access.ScopeRefundsRead}, "what the key permits: "+strings.Join(scopes, ", "))
	cmd.Flags().DurationVar(&validFor, "valid-for", 0, "how long the key is valid, for example 2160h; 0s = until it is revoked")
	return withFault(cmd)
}

func checkKeyFlags(actor, kind string, wanted []string, validFor time.Duration) error {
	switch {
	case !refund.ValidID(actor):
		return fmt.Errorf("--actor: 1 to 64 characters of A-Z a-z 0-9 . _ : ~ @ = + - are required")
	case kind != "system" && kind != "person":
		return fmt.Errorf("--kind: %q is not one of system, person", kind)
	case len(wanted) == 0:
		return fmt.Errorf("--scopes: at least one is required")
	case validFor < 0:
		return fmt.Errorf("--valid-for: must not be negative")
	}
	for _, w := range wanted {
		if !slices.Contains(scopes, w) {
			return fmt.Errorf("--scopes: %q is not one of %s", w, strings.Join(scopes, ", "))
		}
	}
	return nil
}

func keyListCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "list TENANT", Short: "List the API keys of a tenant, without their secrets", Args: cobra.ExactArgs(1), Example: "  refundry key list shop-eu",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				t, err := s.Tenant(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("tenant %s: %w", args[0], err)
				}
				all, err := s.Keys(cmd.Context(), t)
				if err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, append([]store.KeyRow{}, all...))
				}
				var rows [][]any
				for _, k := range all {
					rows = append(rows, []any{k.Prefix, k.Actor, strings.Join(k.Scopes, ","), moment(&k.CreatedAt), moment(k.ExpiresAt), moment(k.RevokedAt)})
				}
				return printTable(cmd, "PREFIX\tACTOR\tSCOPES\tCREATED\tEXPIRES\tREVOKED", rows)
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func keyRevokeCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "revoke PREFIX", Short: "Revoke an API key; within a second no process accepts it", Args: cobra.ExactArgs(1), Example: "  refundry key revoke 7GhT2kQp",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				if err := s.RevokeKey(cmd.Context(), args[0]); err != nil {
					return fmt.Errorf("key %s: %w", args[0], err)
				}
				if c.json {
					return printJSON(cmd, map[string]any{"prefix": args[0], "revoked": true})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "key %s revoked\n", args[0])
				return nil
			})
		},
	}
	c.bind(cmd)
	return withFault(cmd)
}
