package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

// openChannels writes the configured accounts to the database and opens their clients.
func (a *app) openChannels(ctx context.Context, book *accountBook) (*channel.Registry, error) {
	var wanted []store.AccountConfig
	for name, c := range a.cfg.file.Accounts {
		kind, known := channelKind(c.Channel)
		if !known {
			return nil, fmt.Errorf("account %s: there is no channel %q", name, c.Channel)
		}
		contract, err := c.Terms(kind)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		wanted = append(wanted, store.AccountConfig{Name: name, Adapter: c.Channel, Tenants: c.Tenants, Contract: contract,
			Prefixes: c.References.Prefixes})
	}
	synced, err := a.store.SyncAccounts(ctx, wanted)
	if err != nil {
		return nil, err
	}
	book.set(synced)
	transport := channel.NewTransport(channel.TransportConfig{ReadTimeout: jobTimes(a.cfg.file.Times).WithDefaults().Call})
	a.opened(transport.CloseIdleConnections)
	clients := map[string]channel.Account{}
	for name, c := range a.cfg.file.Accounts {
		client, err := openAccount(name, c, synced[name].Contract, transport.Client())
		if err != nil {
			return nil, config.At("accounts."+name, err)
		}
		clients[name] = channel.Account{Client: client, Contract: synced[name].Contract}
	}
	return channel.NewRegistry(clients)
}

func openAccount(name string, c config.Account, contract refund.Contract, client *http.Client) (refund.Channel, error) {
	kind, _ := channelKind(c.Channel)
	settings, err := kind.DecodeSettings(c.Settings.Node())
	if err != nil {
		return nil, err
	}
	return kind.Open(settings, channel.Deps{Account: name, Contract: contract, HTTP: client})
}
