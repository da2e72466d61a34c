package store

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// queueRefunds inserts keys, refunds, first dispatches and first journal rows. The hash chain starts from 32 zero bytes.
func queueRefunds(b *pgx.Batch, v intake.View, rs []intake.NewRefund) {
	if len(rs) == 0 {
		return
	}
	c := refundArrays{Epoch: v.Epoch, NextActionAt: v.Now.Add(refund.HandoutTTL), Now: v.Now}
	for i, r := range rs {
		c.add(i, r)
	}
	for _, s := range []pg.Statement[refundArrays]{sqlInsertKeys, sqlInsertRefunds, sqlInsertDispatches, sqlInsertJournal} {
		b.Queue(s.SQL, s.Args(&c)...)
	}
}

// refundArrays are the columns of a group's new refunds.
type refundArrays struct {
	Tenants      []int64     `arg:"tenants"`
	RIDs         [][16]byte  `arg:"rids"`
	IDs          []string    `arg:"ids"`
	Payments     []string    `arg:"payments"`
	Orders       []string    `arg:"orders"`
	Accounts     []string    `arg:"accounts"`
	References   []string    `arg:"references"`
	Currencies   []string    `arg:"currencies"`
	Exponents    []int16     `arg:"exponents"`
	Amounts      []int64     `arg:"amounts"`
	Digests      [][]byte    `arg:"digests"`
	Prev         []*[16]byte `arg:"prev"`
	Reasons      []string    `arg:"reasons"`
	Metadata     []string    `arg:"metadata"`
	Numbers      []string    `arg:"numbers"`
	Order        []int       `arg:"ord"`
	Epoch        int         `arg:"epoch"`
	NextActionAt time.Time   `arg:"next_action_at"`
	Now          time.Time   `arg:"now"`

	Kinds   []string    `arg:"kinds"` // of the journal rows, as all that follow
	Sources []string    `arg:"sources"`
	Actors  []string    `arg:"actors"`
	Data    []string    `arg:"data"`
	Entries [][]byte    `arg:"entries"` // digests
	Heads   [][]byte    `arg:"heads"`   // hashes
	Batches []*[16]byte `arg:"batches"`
}

func (c *refundArrays) add(i int, r intake.NewRefund) {
	digest := r.Entry.Digest()
	head := refund.JournalHash([32]byte{}, r.RID, 1, c.Now, digest)
	c.Tenants, c.RIDs, c.IDs = append(c.Tenants, int64(r.Tenant)), append(c.RIDs, r.RID), append(c.IDs, r.RefundID)
	c.Payments, c.Orders = append(c.Payments, r.PaymentID), append(c.Orders, r.OrderID)
	c.Accounts, c.References = append(c.Accounts, r.Account), append(c.References, r.ChannelReference)
	c.Currencies, c.Exponents = append(c.Currencies, string(r.Currency)), append(c.Exponents, int16(r.Exponent)) // #nosec G115 -- 0..4
	c.Amounts, c.Digests, c.Prev = append(c.Amounts, r.Amount), append(c.Digests, r.Digest.Bytes()), append(c.Prev, pg.NullRID(r.Prev))
	c.Reasons, c.Metadata = append(c.Reasons, r.Reason), append(c.Metadata, metadataText(r.Metadata))
	c.Numbers, c.Order = append(c.Numbers, r.Number), append(c.Order, i)
	c.Kinds, c.Sources, c.Actors = append(c.Kinds, r.Entry.Kind), append(c.Sources, r.Entry.Source), append(c.Actors, r.Entry.Actor)
	c.Data, c.Entries, c.Heads = append(c.Data, r.Entry.Data), append(c.Entries, digest[:]), append(c.Heads, head[:])
	c.Batches = append(c.Batches, pg.NullRID(r.Replay))
}

func metadataText(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil { // a map of strings always marshals
		return ""
	}
	return string(text)
}
