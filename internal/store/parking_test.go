package store

import (
	"fmt"
	"testing"

	"github.com/refundry/refundry/internal/refund/intake"
)

// Messages that are parked together are one transaction: all are stored or none, however many they are.
func TestMessagesAreParkedTogether(t *testing.T) {
	b, _ := newWaitingStore(t)
	rows := make([]intake.ParkedRow, 1000)
	for i := range rows {
		rows[i] = intake.ParkedRow{EventRef: intake.EventRef{Tenant: b.tenant.ID, EventID: intake.EventID{Consumer: "events", Source: "\x00", ID: "\xff"}},
			Park: intake.Park{Position: fmt.Sprint("http:", i%999), Body: []byte{0xff}}, Reason: "undecodable"}
	}
	if err := b.ParkAll(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if got := b.text(t, `SELECT concat_ws(' ', count(*), count(DISTINCT xmin::text), sum(tries)) FROM parked`); got != "999 1 1000" {
		t.Errorf("rows, transactions, tries = %s, want 999 1 1000", got)
	}
	// One that breaks a constraint takes all of its transaction with it.
	rows = []intake.ParkedRow{rows[0], rows[1]}
	rows[0].Position, rows[1].Position, rows[1].Body = "http:new", "http:other", nil
	if err := b.ParkAll(t.Context(), rows); err == nil {
		t.Error("a message without a body is parked")
	}
	if got := b.count(t, `SELECT count(*) FROM parked WHERE position = 'http:new'`); got != 0 {
		t.Error("a part of the transaction is stored")
	}
}
