package main

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
)

// endUnmatchedAfter is the default of config.Notices.EndUnmatchedAfter.
const endUnmatchedAfter = 30 * 24 * time.Hour

// housekeeping creates the partitions of the coming months and days, matches notices that came before their refund, reads again the
// notices that could not be read, and ends the wait of notices that nobody matched for long.
type housekeeping struct {
	store    *store.Store
	schema   string
	notifier func(account string) (refund.Notifier, bool)
	endAfter time.Duration // of notices that no refund matches
	log      *slog.Logger
}

// Maintain implements jobs.Maintainer. One part that fails does not stop the others.
func (h housekeeping) Maintain(ctx context.Context) error {
	made, err := migrate.EnsurePartitions(ctx, h.store.Pool(), migrate.PartitionsConfig{Schema: h.schema})
	if len(made.Blocked) > 0 {
		h.log.ErrorContext(ctx, "partitions could not be made: the default partition holds rows of their time", "partitions", made.Blocked)
	}
	if len(made.Postponed) > 0 {
		h.log.WarnContext(ctx, "partitions were not made yet: a lock was not obtained in time", "partitions", made.Postponed)
	}
	_, unmatched := h.store.MatchNotices(ctx)
	unread := h.readAgain(ctx)
	ended, expired := h.store.EndUnmatched(ctx, h.endAfter)
	if ended > 0 {
		h.log.InfoContext(ctx, "notices that no refund matched have ended", "notices", ended, "after", h.endAfter.String())
	}
	return errors.Join(err, unmatched, unread, expired)
}

// unreadPage is how many unread notices are read at once.
const unreadPage = 100

// readAgain reads the unread notices with the clients of this process, which may be of a newer version than the one that kept them.
func (h housekeeping) readAgain(ctx context.Context) error {
	var last refund.UnreadNotice
	var failed error
	left := 0
	for {
		page, err := h.store.UnreadNotices(ctx, last.Account, last.Digest, unreadPage)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, n := range page {
			read, err := h.readOne(ctx, n)
			if failed = errors.Join(failed, err); !read {
				left++
			}
			last = n
		}
		if len(page) < unreadPage {
			break
		}
	}
	if left > 0 {
		h.log.ErrorContext(ctx, "signed notices cannot be read; see refundry notice list", "notices", left)
	}
	return failed
}

// readOne enters one notice if it can be read now; false = not yet, or its account is not configured here. It may be repeated: what was
// entered is known then.
func (h housekeeping) readOne(ctx context.Context, n refund.UnreadNotice) (bool, error) {
	reader, ok := h.notifier(n.Account)
	if !ok {
		return false, nil
	}
	notices, err := reader.ReadNotice(n.Headers, n.Body)
	if err != nil {
		return false, nil //nolint:nilerr // it stays unread, which the caller counts
	}
	for _, one := range notices {
		if _, err := h.store.ReceiveNotice(ctx, n.Account, refund.KeptNotice{Notice: one, Headers: n.Headers, Body: n.Body}); err != nil {
			return false, err
		}
	}
	err = h.store.EndUnread(ctx, n.Account, n.Digest, refund.UnreadRead)
	if errors.Is(err, refund.ErrNotFound) { // another process was faster, or an operator
		err = nil
	}
	if err == nil {
		h.log.InfoContext(ctx, "a notice that could not be read was read", "account", n.Account, "digest", hex.EncodeToString(n.Digest[:]))
	}
	return err == nil, err
}
