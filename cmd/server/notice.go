package main

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

func noticeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "notice", Short: "List and dismiss channel notices that cannot be read",
		Long: `A notice with a valid signature that cannot be read is stored and not acknowledged, so that its channel repeats it. Every
version that starts tries it again. These verbs show what is left, and end what will never be read.`}
	cmd.AddCommand(noticeListCommand(), noticeShowCommand(), noticeDismissCommand())
	return cmd
}

// unreadRow is an unread notice as it is printed.
type unreadRow struct {
	Account   string `json:"account"`
	Digest    string `json:"digest"`
	FirstAt   string `json:"firstAt"`
	TimesSeen int    `json:"timesSeen"`
	Reason    string `json:"reason"`
}

func rowOf(n refund.UnreadNotice) unreadRow {
	return unreadRow{n.Account, hex.EncodeToString(n.Digest[:]), moment(&n.FirstAt), n.TimesSeen, n.Reason}
}

// eachUnread calls fn with every unread notice, by account and digest.
func eachUnread(ctx context.Context, s *store.Store, fn func(refund.UnreadNotice)) error {
	var last refund.UnreadNotice
	for {
		page, err := s.UnreadNotices(ctx, last.Account, last.Digest, unreadPage)
		if err != nil {
			return err
		}
		for _, n := range page {
			fn(n)
			last = n
		}
		if len(page) < unreadPage {
			return nil
		}
	}
}

func noticeListCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "list", Short: "List the notices that have a valid signature and cannot be read", Args: cobra.NoArgs, Example: "  refundry notice list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				all := []unreadRow{}
				if err := eachUnread(cmd.Context(), s, func(n refund.UnreadNotice) { all = append(all, rowOf(n)) }); err != nil {
					return err
				}
				if c.json {
					return printJSON(cmd, all)
				}
				var rows [][]any
				for _, n := range all {
					rows = append(rows, []any{n.Account, n.Digest, n.FirstAt, n.TimesSeen, n.Reason})
				}
				return printTable(cmd, "ACCOUNT\tDIGEST\tFIRST SEEN\tTIMES\tREASON", rows)
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func noticeShowCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "show ACCOUNT DIGEST", Short: "Print an unread notice as it came: its headers as JSON, or its body", Args: cobra.ExactArgs(2),
		Example: "  refundry notice show demo " + exampleDigest,
		RunE: func(cmd *cobra.Command, args []string) error {
			digest, err := parseDigest(args[1])
			if err != nil {
				return err
			}
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				var found *refund.UnreadNotice
				err := eachUnread(cmd.Context(), s, func(n refund.UnreadNotice) {
					if n.Account == args[0] && n.Digest == digest {
						found = &n
					}
				})
				switch {
				case err != nil:
					return err
				case found == nil:
					return fmt.Errorf("notice %s: %w", args[1], refund.ErrNotFound)
				case c.json:
					return printJSON(cmd, map[string]any{"notice": rowOf(*found), "headers": found.Headers, "body": found.Body})
				}
				_, err = cmd.OutOrStdout().Write(found.Body)
				return err
			})
		},
	}
	c.bind(cmd)
	return cmd
}

func noticeDismissCommand() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use: "dismiss ACCOUNT DIGEST", Short: "Acknowledge an unread notice from now on; its row stays", Args: cobra.ExactArgs(2),
		Example: "  refundry notice dismiss demo " + exampleDigest,
		RunE: func(cmd *cobra.Command, args []string) error {
			digest, err := parseDigest(args[1])
			if err != nil {
				return err
			}
			return c.withStore(cmd.Context(), func(s *store.Store) error {
				if err := s.EndUnread(cmd.Context(), args[0], digest, refund.UnreadDismissed); err != nil {
					return fmt.Errorf("notice %s: %w", args[1], err)
				}
				if c.json {
					return printJSON(cmd, map[string]any{"account": args[0], "digest": args[1], "dismissed": true})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "notice %s of account %s dismissed\n", args[1], args[0])
				return nil
			})
		},
	}
	c.bind(cmd)
	return withFault(cmd)
}

// exampleDigest is the digest in the examples.
const exampleDigest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func parseDigest(text string) (digest [32]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(digest) {
		return digest, fmt.Errorf("%q is not a digest of 64 hexadecimal characters", text)
	}
	return [32]byte(raw), nil
}
