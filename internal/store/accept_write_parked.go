package store

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// conflictArgs are a row of conflicts.
type conflictArgs struct {
	Tenant    int64     `arg:"tenant"`
	ID        [16]byte  `arg:"id"`
	Kind      string    `arg:"kind"`
	Consumer  string    `arg:"consumer"`
	Source    *string   `arg:"source"`
	Event     *string   `arg:"event"`
	Refund    *string   `arg:"refund"`
	Payment   *string   `arg:"payment"`
	RID       *[16]byte `arg:"rid"`
	GotDigest []byte    `arg:"got_digest"`
	Got       string    `arg:"got"`
	Fields    []string  `arg:"fields"`
	Transport *string   `arg:"transport"`
	Now       time.Time `arg:"now"`
}

func queueConflicts(b *pgx.Batch, v intake.View, cs []intake.ConflictRow, id func() refund.RID) {
	for _, c := range cs {
		b.Queue(sqlConflict.SQL, sqlConflict.Args(&conflictArgs{
			Tenant: int64(c.Tenant), ID: id(), Kind: string(c.Kind), Consumer: c.Consumer, Source: pg.Null(c.Source), Event: pg.Null(c.ID),
			Refund: pg.Null(c.RefundID), Payment: pg.Null(c.PaymentID), RID: pg.NullRID(c.RID), GotDigest: c.GotDigest[:], Got: c.Got,
			Fields: append([]string{}, c.Fields...), Transport: pg.Null(c.Transport), Now: v.Now,
		})...)
	}
}

// parkArgs are a row of parked.
type parkArgs struct {
	Tenant      int64               `arg:"tenant"`
	ID          [16]byte            `arg:"id"`
	Consumer    string              `arg:"consumer"`
	Source      *string             `arg:"source"`
	Event       *string             `arg:"event"`
	Position    string              `arg:"position"`
	Headers     map[string][]string `arg:"headers"`
	Body        []byte              `arg:"body"`
	Reason      string              `arg:"reason"`
	WakePayment *string             `arg:"wake_payment"`
	AlarmAt     *time.Time          `arg:"alarm_at"`
	Now         time.Time           `arg:"now"`
}

func queueParked(b *pgx.Batch, v intake.View, p intake.Plan, id func() refund.RID) {
	for _, k := range p.Parked {
		b.Queue(sqlPark.SQL, sqlPark.Args(&parkArgs{
			Tenant: int64(k.Tenant), ID: id(), Consumer: k.Consumer, Source: pg.Null(k.Source), Event: pg.Null(k.ID), Position: storable(k.Position),
			Headers: storableHeaders(k.Headers), Body: k.Body, Reason: k.Reason, WakePayment: pg.Null(k.WakePayment), AlarmAt: pg.NullTime(k.AlarmAt), Now: v.Now,
		})...)
	}
	for _, u := range p.Unparked {
		if u.How != "" {
			b.Queue(sqlUnparkDone, int64(u.Tenant), [16]byte(u.ID), v.Now, u.How, u.By)
		} else {
			b.Queue(sqlUnparkStay, int64(u.Tenant), [16]byte(u.ID), u.Reason, pg.Null(u.WakePayment), pg.Null(u.AlarmAt))
		}
	}
}

// storable makes foreign text storable: valid UTF-8 without NUL. The stored body keeps the original bytes.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func storableHeaders(h map[string][]string) map[string][]string {
	out := make(map[string][]string, len(h))
	for k, vs := range h {
		for _, v := range vs {
			out[storable(k)] = append(out[storable(k)], storable(v))
		}
	}
	return out
}
