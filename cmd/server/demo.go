package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

// demoSite has the addresses and keys that dev prints when it is ready.
type demoSite struct {
	API            string `json:"api"`
	APIKey         string `json:"apiKey"`
	ApproverKey    string `json:"approverKey"` // of a second actor
	Tenant         string `json:"tenant"`
	ChannelAccount string `json:"channelAccount"`
	Simulator      string `json:"simulator"`
	DatabaseURL    string `json:"databaseUrl"`
	NATS           string `json:"nats"`
	NATSSubject    string `json:"natsSubject"`
	Docs           string `json:"docs"`
}

func (d demoSite) with(a *app, s *devStack) demoSite {
	d.API = "http://" + a.server.Addr().String()
	d.Docs, d.Simulator, d.DatabaseURL = d.API+"/docs", s.sim.url(), s.db.URL()
	d.NATS, d.NATSSubject = s.nats.URL(), demoSubject
	return d
}

// demoKeys are the API keys of the demo tenant. They are kept in a file that only its owner can read, since the database has hashes only.
type demoKeys struct {
	APIKey      string `json:"apiKey"`
	ApproverKey string `json:"approverKey"`
}

// prepareDemo creates the demo tenant and its keys, or finds those of the last run.
func prepareDemo(ctx context.Context, url, dir string) (demoSite, error) {
	site := demoSite{Tenant: demoTenant, ChannelAccount: demoTenant}
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 2})
	if err != nil {
		return site, err
	}
	defer s.Close()
	tenant, err := s.AddTenant(ctx, demoTenant, access.ModeTest)
	if err != nil {
		return site, err
	}
	path := filepath.Join(dir, "demo-keys.json")
	keys, err := readDemoKeys(ctx, s, path)
	if err != nil {
		return site, err
	}
	if keys == (demoKeys{}) {
		if keys, err = makeDemoKeys(ctx, s, tenant, path); err != nil {
			return site, err
		}
	}
	site.APIKey, site.ApproverKey = keys.APIKey, keys.ApproverKey
	return site, nil
}

// readDemoKeys returns the keys of the last run, or none if the database does not accept them.
func readDemoKeys(ctx context.Context, s *store.Store, path string) (demoKeys, error) {
	var keys demoKeys
	raw, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, os.ErrNotExist) {
		return keys, nil
	}
	if err != nil {
		return keys, err
	}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return keys, fmt.Errorf("%s is damaged (remove it, and new keys are created): %w", path, err)
	}
	for _, text := range []string{keys.APIKey, keys.ApproverKey} {
		key, parseErr := access.ParseAPIKey(text)
		if parseErr != nil {
			return demoKeys{}, nil //nolint:nilerr // not an API key: new ones are created
		}
		rec, err := s.Lookup(ctx, key.Prefix)
		if errors.Is(err, refund.ErrNotFound) || (err == nil && (rec.SecretHash != key.SecretHash() || !rec.RevokedAt.IsZero())) {
			return demoKeys{}, nil
		}
		if err != nil {
			return demoKeys{}, err
		}
	}
	return keys, nil
}

func makeDemoKeys(ctx context.Context, s *store.Store, tenant store.TenantRow, path string) (demoKeys, error) {
	var keys demoKeys
	for _, k := range []struct {
		actor  string
		scopes []string
		text   *string
	}{
		{"demo", scopes, &keys.APIKey},
		{"approver", []string{access.ScopeRefundsRead, access.ScopeCasesDecide, access.ScopeCasesApprove}, &keys.ApproverKey},
	} {
		key, err := access.NewAPIKey(rand.Reader, tenant.Mode)
		if err != nil {
			return keys, err
		}
		if err := s.AddKey(ctx, store.NewKey{Tenant: tenant, Actor: k.actor, Kind: "person", Scopes: k.scopes}, key); err != nil {
			return keys, err
		}
		*k.text = key.Reveal()
	}
	raw, err := json.Marshal(keys) // #nosec G117 -- the demo's own keys, into a file that only their owner reads
	if err != nil {
		return keys, err
	}
	return keys, os.WriteFile(path, raw, 0o600)
}

// printReady prints the addresses, keys and commands to copy, or one line of JSON.
func printReady(cmd *cobra.Command, f devFlags, d demoSite) {
	if f.json {
		_ = printJSON(cmd, d)
		return
	}
	fmt.Fprintf(cmd.OutOrStdout(), `
Refundry is ready.

  API        %[1]s        (reference: %[1]s/docs)
  simulator  %[3]s
  database   %[4]s
  events     %[5]s        (NATS JetStream, subject %[6]s)

Copy and paste:

  export KEY=%[2]s
  curl -s %[1]s/v1/refunds -H "Authorization: Bearer $KEY" -H 'Idempotency-Key: rf_1-first' -H 'Content-Type: application/json' -H 'Prefer: wait=10' \
    -d '{"refundId":"rf_1","orderId":"ord_1","paymentId":"pay_1","amount":1250,"currency":"USD","payment":{"orderId":"ord_1","amount":10000,"currency":"USD","channelAccount":"demo"}}'
  curl -s %[1]s/v1/refunds/rf_1 -H "Authorization: Bearer $KEY"
  curl -s %[3]s/effects

The same as an event, with the nats command (go install github.com/nats-io/natscli/nats@latest):

  nats --server %[5]s pub -J %[6]s \
    '{"specversion":"1.0","id":"evt-1","source":"/shop","type":"refund.requested","tenantid":"demo","data":{"refundId":"rf_2","orderId":"ord_1","paymentId":"pay_1","amount":500,"currency":"USD"}}'

A decision about a case is approved with the key of a second person:

  export APPROVER_KEY=%[7]s

Ctrl-C stops everything.
`, d.API, d.APIKey, d.Simulator, d.DatabaseURL, d.NATS, d.NATSSubject, d.ApproverKey)
}
