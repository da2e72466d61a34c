package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/store/verify"
)

func exportCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "export", Short: "Export evidence for a bank, an auditor or a customer"}
	cmd.AddCommand(exportRefundCommand())
	return cmd
}

func exportRefundCommand() *cobra.Command {
	var c common
	var tenant, out, signWith string
	cmd := &cobra.Command{
		Use: "refund ID", Short: "Write everything stored about one refund as one JSON document", Args: cobra.ExactArgs(1),
		Long: `Writes the refund with its payment, journal, numbers, calls and their evidence, effects, postings, cases, decisions, receipts,
notices and the contracts that applied; also refused requests for the payment, the digests of unmatched notices of the account, and the
positions of the journal's readers. "refundry verify --file" checks the document without the database. --anchor-key signs the whole
document: with --anchor-public-key the check detects every later change of it.

The document contains the caller's reason and metadata and the channel's answers: treat it as personal data.`,
		Example: "  refundry export refund rf_1001 --tenant shop-eu --anchor-key file:anchor.pem --out rf_1001.json\n" +
			"  refundry verify --file rf_1001.json --anchor-public-key file:anchor.pub",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.needDatabase(); err != nil {
				return err
			}
			if tenant == "" {
				return errors.New("--tenant is required")
			}
			key, err := readSigningKey(signWith)
			if err != nil {
				return err
			}
			v, err := verify.Open(cmd.Context(), verify.Config{URL: c.direct(), Schema: c.schema, Tenant: tenant})
			if err != nil {
				return err
			}
			defer v.Close()
			e, err := v.Export(cmd.Context(), tenant, args[0])
			if err != nil {
				return err
			}
			if key != nil {
				if e, err = e.Sign(key); err != nil {
					return err
				}
			}
			if out == "" {
				return printJSON(cmd, e)
			}
			raw, err := json.Marshal(e)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Clean(out), append(raw, '\n'), 0o600)
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&tenant, "tenant", "", "code of the tenant that owns the refund (required)")
	cmd.Flags().StringVar(&signWith, "anchor-key", "", "ed25519 private key that signs the whole document: file:PATH or env:NAME")
	cmd.Flags().StringVar(&out, "out", "", "file to write, readable by its owner only (default: standard output)")
	return cmd
}

// verifyFile checks an exported document; the path - is standard input.
func (f *verifyFlags) verifyFile(cmd *cobra.Command) error {
	var raw []byte
	var err error
	if f.file == "-" {
		raw, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), longestEvidenceFile+1))
	} else {
		raw, err = os.ReadFile(filepath.Clean(f.file))
	}
	if err != nil {
		return err
	}
	if len(raw) > longestEvidenceFile {
		return fmt.Errorf("the document is larger than %d MB", longestEvidenceFile>>20)
	}
	key, err := readPublicKey(f.key)
	if err != nil {
		return err
	}
	r, err := verify.CheckEvidence(raw, f.samples, key)
	if err != nil {
		return err
	}
	if key == nil && !f.json {
		fmt.Fprintln(cmd.ErrOrStderr(), "The document's signature was not checked: that needs --anchor-public-key.")
	}
	return f.report(cmd, r)
}

// longestEvidenceFile is the size in bytes of the largest document that is read.
const longestEvidenceFile = 256 << 20
