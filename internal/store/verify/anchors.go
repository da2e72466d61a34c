package verify

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// AnchorTrust is what the anchors in the database are checked against.
type AnchorTrust struct {
	Key  ed25519.PublicKey // nil = signatures are not checked; given, every anchor needs one
	File string            // "" = no copy outside
}

const (
	allAnchorsSQL  = `SELECT upto_pos, rows, hash, signature FROM journal_anchors WHERE upto_pos > $1 ORDER BY upto_pos LIMIT 1000`
	anchorPageRows = 20_000
)

type storedAnchor struct {
	upto, rows      int64
	hash, signature []byte
}

// anchors recomputes every anchor from the journal, and compares it with the key and the file.
func (v *Verifier) anchors(ctx context.Context, t *tally) error {
	file := &anchorFile{}
	if v.cfg.Anchors.File != "" {
		var err error
		if file, err = readAnchorFile(v.cfg.Anchors.File); err != nil {
			v.anchorFinding(t, 0, "anchor-file", err.Error())
			file = &anchorFile{}
		}
		v.anchorEpochs(t, file)
	}
	var at int64
	var prev [32]byte
	for {
		page, err := v.anchorPage(ctx, at)
		if err != nil || len(page) == 0 {
			v.anchorsLeft(t, file, at)
			return err
		}
		for _, a := range page {
			if err := v.anchor(ctx, t, a, at, prev); err != nil {
				return err
			}
			v.anchorCopy(t, file, a)
			at, prev = a.upto, hash32(a.hash)
		}
		v.progress("anchors", at, 0)
	}
}

func (v *Verifier) anchorPage(ctx context.Context, at int64) ([]storedAnchor, error) {
	rows, err := v.db.Query(ctx, allAnchorsSQL, at)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a storedAnchor, err error) {
		err = row.Scan(&a.upto, &a.rows, &a.hash, &a.signature)
		return a, err
	})
	return out, pg.Translate(err)
}

// anchor checks one range.
func (v *Verifier) anchor(ctx context.Context, t *tally, a storedAnchor, from int64, prev [32]byte) error {
	t.n++
	h := audit.NewAnchorHash(prev)
	for at := from; at < a.upto; {
		last, err := hashRows(ctx, v.db, h, at, a.upto, anchorPageRows)
		if err != nil {
			return pg.Translate(err)
		}
		if last == at {
			break
		}
		at = last
	}
	rows := h.Rows()
	if h.Sum(a.upto) != hash32(a.hash) {
		v.anchorFinding(t, a.upto, "anchor-hash", fmt.Sprintf("the journal behind position %d is not what was anchored: %d rows, then %d", from, rows, a.rows))
	}
	if v.cfg.Anchors.Key != nil && !ed25519.Verify(v.cfg.Anchors.Key, audit.AnchorStatement(v.installation, a.upto, a.rows, hash32(a.hash)), a.signature) {
		v.anchorFinding(t, a.upto, "anchor-signature", "not signed by the key given")
	}
	return nil
}

// anchorCopy compares an anchor with the file's, and takes it from the file.
func (v *Verifier) anchorCopy(t *tally, file *anchorFile, a storedAnchor) {
	for len(file.anchors) > 0 && file.anchors[0].UptoPos <= a.upto {
		l := file.anchors[0]
		file.anchors = file.anchors[1:]
		switch {
		case l.UptoPos < a.upto:
			v.anchorFinding(t, l.UptoPos, "anchor-missing", "in the file, not in the database")
		case l.Rows != a.rows || string(l.Hash) != string(a.hash) || string(l.Signature) != string(a.signature):
			v.anchorFinding(t, l.UptoPos, "anchor-differs", "file and database do not say the same")
		}
	}
}

// anchorsLeft: what the file knows beyond the database's last anchor was cut off.
func (v *Verifier) anchorsLeft(t *tally, file *anchorFile, at int64) {
	for _, l := range file.anchors {
		v.anchorFinding(t, l.UptoPos, "anchor-missing", fmt.Sprintf("in the file, but the database's anchors end at %d", at))
	}
	file.anchors = nil
}

// anchorEpochs: only who has the key may say that anchors are lost.
func (v *Verifier) anchorEpochs(t *tally, file *anchorFile) {
	for _, l := range file.epochs {
		if v.cfg.Anchors.Key != nil && !ed25519.Verify(v.cfg.Anchors.Key, audit.AnchorEpochStatement(v.installation, l.Epoch, *l.KeptUpTo), l.Signature) {
			v.anchorFinding(t, *l.KeptUpTo, "anchor-signature", fmt.Sprintf("the beginning of epoch %d is not signed by the key given", l.Epoch))
		}
	}
}

func (v *Verifier) anchorFinding(t *tally, pos int64, check, what string) {
	t.add("P7", Violation{Subject: "anchor " + strconv.FormatInt(pos, 10), Check: check, What: what})
}
