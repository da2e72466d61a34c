package main

import (
	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/jobs"
)

// channelKinds lists the kinds of channels of this program. A new channel has a folder and a line here.
func channelKinds() []channel.Kind {
	return []channel.Kind{
		plain.Kind,
	}
}

// brokerKinds lists the kinds of brokers of this program. A new broker has a folder and a line here.
func brokerKinds() []bridge.Kind {
	return []bridge.Kind{
		nats.Kind,
	}
}

func channelKind(name string) (channel.Kind, bool) {
	for _, k := range channelKinds() {
		if k.Name == name {
			return k, true
		}
	}
	return channel.Kind{}, false
}

func brokerKind(name string) (bridge.Kind, bool) {
	for _, k := range brokerKinds() {
		if k.Name == name {
			return k, true
		}
	}
	return bridge.Kind{}, false
}

// configKinds returns the kinds that a configuration file may use, with their checks.
func configKinds() config.Kinds {
	out := config.Kinds{Channels: map[string]config.ChannelKind{}, Brokers: map[string]config.Kind{},
		Times: func(t config.Times) config.Faults { return jobTimes(t).Faults() }}
	for _, k := range channelKinds() {
		out.Channels[k.Name] = k
	}
	for _, k := range brokerKinds() {
		out.Brokers[k.Name] = k
	}
	return out
}

// jobTimes returns the configured times of the workers; a zero stands for the default.
func jobTimes(t config.Times) jobs.Times {
	return jobs.Times{Lease: t.Lease, Margin: t.Margin, SendWindow: t.SendWindow, Call: t.Call, Enter: t.Enter}
}
