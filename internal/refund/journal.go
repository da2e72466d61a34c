package refund

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Entry is a journal row before the store adds seq, time and hash.
type Entry struct {
	Kind          string
	From, To      State // From "" = first row
	Generation    int
	Source, Actor string
	FactKey       []byte // 32 bytes or nil
	Data          string // canonical JSON
}

// Digest returns the digest that the hash chain links. It covers all columns of the row except its place in the chain (see
// JournalHash): From is "" for the first row, FactKey is nil when the row has no fact key, Data is the JSON exactly as stored.
func (e Entry) Digest() [32]byte {
	return sumLP(domainJournal, e.Kind, string(e.From), string(e.To), strconv.Itoa(e.Generation), e.Source, e.Actor, hex.EncodeToString(e.FactKey), e.Data)
}

// JournalStep is one journal row and the refund row as it stands after it.
type JournalStep struct {
	Row   Refund
	Entry Entry
}

// JournalKind is the spelling of a fact's kind in the journal: lower case.
func JournalKind(k FactKind) string { return strings.ToLower(string(k)) }

// postgresEpoch is 2000-01-01 00:00:00 UTC in microseconds since 1970, the
// zero of PostgreSQL's timestamptz
// (https://www.postgresql.org/docs/15/datatype-datetime.html).
const postgresEpoch = 946_684_800_000_000

// JournalHash chains a row to the one before it. prev is all zeros for seq 1.
// The database computes the same under the row lock as
//
//	sha256(prev || uuid_send(rid) || int4send(seq) || timestamptz_send(at) || digest)
//
// at counts in whole microseconds, the precision that PostgreSQL stores;
// anything finer is cut off towards the past, as pgx does when it writes a
// time.
func JournalHash(prev [32]byte, rid RID, seq int32, at time.Time, digest [32]byte) [32]byte {
	b := make([]byte, 0, 32+16+4+8+32)
	b = append(b, prev[:]...)
	b = append(b, rid[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMicro()-postgresEpoch))
	b = append(b, digest[:]...)
	return sha256.Sum256(b)
}

// FactKey is the identity of a fact about a dispatch or an effect: the same fact from any source (answer, query, notice,
// file) has the same key, and a known key changes nothing. subject is the dispatch number or the effect's id. Absences and
// the answers Unknown, NotSent and Retryable have no key, because each of them is news.
func FactKey(subject, outcome, channelRefundID string, amount int64, currency Currency) [32]byte {
	return sumLP(domainFact, subject, outcome, channelRefundID, decimal(amount), string(currency))
}

// PersonalMAC is the form of personal text (a reason, a person's evidence) in journal data: HMAC-SHA-256 under a random salt
// of its own, in lower-case hex. Text and salt stay outside the chain and can be erased; short texts could be guessed from a
// hash without salt.
func PersonalMAC(salt [32]byte, text string) string {
	m := hmac.New(sha256.New, salt[:])
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}
