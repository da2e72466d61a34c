package httpapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
)

const (
	// maxKeyTTL is the longest time for which a process accepts a revoked key.
	maxKeyTTL = time.Second
	// maxCachedKeys bounds each half of the cache; a full half is emptied.
	maxCachedKeys = 4096
	// keyLookupTimeout bounds a query, which several requests may share.
	keyLookupTimeout = 3 * time.Second
)

// keyCache caches rows of keys for up to a second, so that a busy key costs one query
// per second. Unknown prefixes have a cache of their own: a flood of invented prefixes
// cannot displace real keys.
type keyCache struct {
	store  KeyStore
	ttl    time.Duration
	clock  func() time.Time
	flight singleflight.Group

	mu     sync.Mutex
	known  map[string]cachedKey
	absent map[string]time.Time // until when
}

type cachedKey struct {
	rec   access.APIKeyRecord
	until time.Time
}

func newKeyCache(store KeyStore, ttl time.Duration, clock func() time.Time) *keyCache {
	return &keyCache{store: store, ttl: min(ttl, maxKeyTTL), clock: clock, known: map[string]cachedKey{}, absent: map[string]time.Time{}}
}

// lookup is KeyStore.Lookup with the cache. Concurrent requests for one prefix share a
// query. The age of a result counts from the start of its query.
func (c *keyCache) lookup(ctx context.Context, prefix string) (access.APIKeyRecord, error) {
	now := c.clock()
	if rec, err, hit := c.cached(prefix, now); hit {
		return rec, err
	}
	got := c.flight.DoChan(prefix, func() (any, error) {
		asked := c.clock()
		lctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyLookupTimeout)
		defer cancel()
		rec, err := c.store.Lookup(lctx, prefix)
		c.keep(prefix, rec, err, asked.Add(c.ttl))
		return rec, err
	})
	select {
	case <-ctx.Done():
		return access.APIKeyRecord{}, ctx.Err()
	case res := <-got:
		rec, _ := res.Val.(access.APIKeyRecord)
		return rec, res.Err
	}
}

func (c *keyCache) cached(prefix string, now time.Time) (access.APIKeyRecord, error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.known[prefix]; ok && now.Before(k.until) {
		return k.rec, nil, true
	}
	if until, ok := c.absent[prefix]; ok && now.Before(until) {
		return access.APIKeyRecord{}, refund.ErrNotFound, true
	}
	return access.APIKeyRecord{}, nil, false
}

func (c *keyCache) keep(prefix string, rec access.APIKeyRecord, err error, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		if len(c.known) >= maxCachedKeys {
			clear(c.known)
		}
		delete(c.absent, prefix)
		c.known[prefix] = cachedKey{rec: rec, until: until}
	case errors.Is(err, refund.ErrNotFound):
		if len(c.absent) >= maxCachedKeys {
			clear(c.absent)
		}
		delete(c.known, prefix)
		c.absent[prefix] = until
	}
}
