package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/pg"
)

func tenantCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tenant", Short: "Add, list and close tenants",
		Long: "A tenant is never deleted, and its code is never reused: the code is part of the refund numbers at the channels."}
	cmd.AddCommand(tenantAddCommand(), tenantListCommand(), tenantCloseCommand())
	return cmd
}

// withStore calls fn with an open store.
func (c *common) withStore(ctx context.Context, fn func(*store.Store) error) error {
	if err := c.needDatabase(); err != nil {
		return err
	}
	log, err := c.logger(io.Discard)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.databaseURL, Schema: c.schema, Params: pg.Params(c.params), MaxConns: 2, Logger: log})
	if err != nil {
		return err
	}
	defer s.Close()
	return fn(s)
}

func tenantAddCommand() *cobra.Command {
	var c common
	var test bool
	cmd := &cobra.Command{
		Use: "add CODE", Short: "Create a tenant, or show the one that has this code", Args: cobra.ExactArgs(1),
		Example: "  refundry tenant add shop-eu\n  refundry tenant add shop-eu-test --test",
		RunE: func(cmd *cobra.Command, args []string) error {
			mode := map[bool]string{true: "test", false: "live"}[test]
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				t, err := s.AddTenant(cmd.Context(), args[0], mode)
				if err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, t)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "tenant %s (%s)\n", t.Code, t.Mode)
				return nil
			})
		},
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&test, "test", false, "create a test tenant, whose API keys begin with rfk_test_")
	return withFault(cmd)
}

func tenantListCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "list", Short: "List tenants", Args: cobra.NoArgs, Example: "  refundry tenant list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				all, err := s.Tenants(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, append([]store.TenantRow{}, all...))
				}
				var rows [][]any
				for _, t := range all {
					rows = append(rows, []any{t.Code, t.Mode, moment(&t.CreatedAt), moment(t.ClosedAt)})
				}
				return printTable(cmd, "CODE\tMODE\tCREATED\tCLOSED", rows)
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func tenantCloseCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "close CODE", Short: "Close a tenant: it accepts no new requests, and its open refunds are completed", Args: cobra.ExactArgs(1),
		Example: "  refundry tenant close shop-eu",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				if err := s.CloseTenant(cmd.Context(), args[0]); err != nil {
					return fmt.Errorf("tenant %s: %w", args[0], err)
				}
				t, err := s.Tenant(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, t)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "tenant %s closed\n", args[0])
				return nil
			})
		},
	}
	c.bind(cmd)
	return withFault(cmd)
}
