package simulator

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Account is one merchant account at the channel.
type Account struct {
	Profile Profile
	Secret  string // when set, requests need "Authorization: Bearer <secret>"
	// NoticeSecret signs the account's notices; without one none are sent.
	NoticeSecret string
}

// Config is what New needs. Only Dir is required.
type Config struct {
	// Dir holds the record; created when missing.
	Dir string
	// Accounts by name. Besides these, the account demo has the profile
	// keyed-queryable, and demo-<profile> has that profile, without a secret.
	Accounts map[string]Account
	// NoticeSecret of the demo accounts; without one they send no notices.
	NoticeSecret string
	// Faults is the rule set to start with, in the form of ParseSpec.
	Faults string
	// Logger; default: discards.
	Logger *slog.Logger
	// Clock decides when a refund settles, shows and returns; default: time.Now.
	Clock func() time.Time
	// PendingDelay between acceptance and result under pending; default 2 s.
	PendingDelay time.Duration
	// HiddenDelay from settling to visibility under hidden; default 2 s.
	HiddenDelay time.Duration
	// LateFailureDelay from settling to the return of the money; default 3 s.
	LateFailureDelay time.Duration
	// SlowDelay of an answer under slow, in real time; default 10 s.
	SlowDelay time.Duration
	// NoticeDelay of a notice under notice-late; default 3 s.
	NoticeDelay time.Duration
	// KeyLifetime of every profile whose keys die, instead of the profile's own.
	KeyLifetime time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.PendingDelay, 2 * time.Second},
		{&c.HiddenDelay, 2 * time.Second},
		{&c.LateFailureDelay, 3 * time.Second},
		{&c.SlowDelay, 10 * time.Second},
		{&c.NoticeDelay, 3 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return c
}

// Simulator is a running channel. Its methods may be called from any goroutine.
type Simulator struct {
	cfg    Config
	record *record
	closed chan struct{}
	once   sync.Once
	latest atomic.Int64 // the latest moment seen, Unix microseconds

	mu       sync.Mutex
	instance string
	faults   *faultSet
	books    *books
	inFlight map[at]int // sends that are not answered yet, by number

	courier courier
}

// New opens the record in cfg.Dir and takes up where it ended. It fails on an
// unknown profile, a bad fault spec, a record in use by another process, and
// with ErrCorrupt on a damaged record.
func New(cfg Config) (*Simulator, error) {
	cfg = cfg.withDefaults()
	for name, a := range cfg.Accounts {
		if _, ok := profileOf(a.Profile); !ok || !validID(name) {
			return nil, fmt.Errorf("simulator: account %q with profile %q is not valid", name, a.Profile)
		}
	}
	rules, err := ParseSpec(cfg.Faults)
	if err != nil {
		return nil, err
	}
	s := &Simulator{cfg: cfg, closed: make(chan struct{}), faults: newFaultSet(rules), books: newBooks(), inFlight: map[at]int{}}
	rec, torn, err := openRecord(cfg.Dir, s.replay)
	if err != nil {
		return nil, err
	}
	s.record = rec
	if torn > 0 {
		cfg.Logger.Warn("simulator record ended in an unfinished line, dropped", "bytes", torn)
	}
	if s.instance == "" {
		err = s.begin()
	}
	if err != nil {
		return nil, errors.Join(err, rec.close())
	}
	cfg.Logger.Info("simulator record open", "refunds", len(s.books.all), "lines", rec.durable)
	return s, nil
}

// begin writes the first line of a new record. Its random instance keeps the
// channel refund ids of two records apart.
func (s *Simulator) begin() error {
	var raw [6]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	s.instance = hex.EncodeToString(raw[:])
	seq, err := s.record.stage(entry{
		At: s.now(), Format: recordFormat, Version: recordVersion, Instance: s.instance,
	})
	if err != nil {
		return err
	}
	return s.record.commit(seq)
}

func (s *Simulator) replay(e entry) error {
	s.latest.Store(max(s.latest.Load(), e.At.UnixMicro()))
	if e.Seq == 1 {
		if e.Format != recordFormat || e.Version != recordVersion || e.Instance == "" {
			return fmt.Errorf("format %q version %d cannot be read", e.Format, e.Version)
		}
		s.instance = e.Instance
		return nil
	}
	if e.Account == "" || e.Number == "" {
		return errors.New("not a send")
	}
	s.books.enter(e)
	return nil
}

// SetFaults replaces all rules by those of the spec (see ParseSpec). Their hits
// start at 0; the counts of requests go on.
func (s *Simulator) SetFaults(spec string) error {
	rules, err := ParseSpec(spec)
	if err != nil {
		return err
	}
	s.setRules(rules)
	return nil
}

func (s *Simulator) setRules(rules Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = newFaultSet(rules)
}

// Close ends slow answers and notices, writes what is staged and closes the
// record. Sends that come later are answered 503. The HTTP server is the caller's to stop,
// best before.
func (s *Simulator) Close() error {
	s.once.Do(func() { close(s.closed) })
	s.courier.stop()
	return s.record.close()
}

// now is the clock to the microsecond, but never earlier than any moment seen
// before, the record's included: a clock that steps back must not undo an effect.
func (s *Simulator) now() time.Time {
	now := s.cfg.Clock().UnixMicro()
	for {
		latest := s.latest.Load()
		if now <= latest {
			return time.UnixMicro(latest).UTC()
		}
		if s.latest.CompareAndSwap(latest, now) {
			return time.UnixMicro(now).UTC()
		}
	}
}

// account resolves a name to its settings.
func (s *Simulator) account(name string) (Account, bool) {
	if a, ok := s.cfg.Accounts[name]; ok {
		return a, true
	}
	a := Account{Profile: KeyedQueryable, NoticeSecret: s.cfg.NoticeSecret}
	if name == "demo" {
		return a, true
	}
	suffix, ok := strings.CutPrefix(name, "demo-")
	a.Profile = Profile(suffix)
	_, known := profileOf(a.Profile)
	return a, ok && known
}

// profile is what an account's profile means here and now.
func (s *Simulator) profile(account string) profile {
	a, _ := s.account(account)
	p, _ := profileOf(a.Profile)
	if p.lifetime > 0 && s.cfg.KeyLifetime > 0 {
		p.lifetime = s.cfg.KeyLifetime
	}
	return p
}
