package nats_test

import (
	"testing"

	"github.com/refundry/refundry/internal/bridge/bridgetest"
)

func TestConformance(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		bridgetest.Run(t, func(t *testing.T) bridgetest.Broker { return newBroker(t, &embedded{dir: t.TempDir()}) })
	})
	t.Run("process", func(t *testing.T) {
		bridgetest.Run(t, func(t *testing.T) bridgetest.Broker { return newBroker(t, &process{dir: t.TempDir()}) })
	})
}
