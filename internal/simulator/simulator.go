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

// Config configures New. Only Dir is required.
type Config struct {
	// Dir is the folder of the record; it is created when missing.
	Dir string
	// Accounts by name. In addition, the account demo has the profile keyed-queryable, and demo-<profile> has that profile,
	// both without a secret.
	Accounts map[string]Account
	// NoticeSecret of the demo accounts; without one they send no notices.
	NoticeSecret string
	// Faults has the first rules, in the form of ParseSpec.
	Faults string
	// Logger; default: discards.
	Logger *slog.Logger
	// Clock is the time by which refunds settle, become visible and return; default: time.Now.
	Clock func() time.Time
	// PendingDelay is the time from acceptance to the result under pending; default 2 s.
	PendingDelay time.Duration
	// HiddenDelay is the time from settling to visibility under hidden; default 2 s.
	HiddenDelay time.Duration
	// LateFailureDelay is the time from settling to the return of the money; default 3 s.
	LateFailureDelay time.Duration
	// SlowDelay is the delay of an answer under slow, in real time; default 10 s.
	SlowDelay time.Duration
	// NoticeDelay is the delay of a notice under notice-late; default 3 s.
	NoticeDelay time.Duration
	// KeyLifetime replaces the lifetime of the keys in every profile whose keys expire.
	KeyLifetime time.Duration
	// ListPage is the most refunds on one page of a list; default 500.
	ListPage int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.ListPage <= 0 {
		c.ListPage = 500
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

// Simulator is a running channel. Its methods can be called from any goroutine. They are in simulator.go, handler.go,
// channel.go, read.go, control.go, notices.go and sender.go.
type Simulator struct {
	cfg    Config
	record *record
	closed chan struct{}
	once   sync.Once
	latest atomic.Int64 // the latest time seen, Unix microseconds

	mu       sync.Mutex
	instance string
	faults   *faultSet
	books    *books
	inFlight map[at]int // sends without an answer, by number

	sender noticeSender
}

// New opens the record in cfg.Dir and continues from it. It returns an error for an unknown profile, a wrong fault
// specification, a record in use by another process, and ErrCorrupt for a damaged record.
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
		cfg.Logger.Warn("an unfinished line at the end of the simulator record was dropped", "bytes", torn)
	}
	if s.instance == "" {
		err = s.begin()
	}
	if err != nil {
		return nil, errors.Join(err, rec.close())
	}
	cfg.Logger.Info("the simulator record is open", "refunds", len(s.books.all), "lines", rec.durable)
	return s, nil
}

// begin writes the first line of a new record. Its random instance makes the channel refund ids of two records different.
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

// SetFaults replaces all rules by those of the specification (see ParseSpec). Their hits start at 0; the counts of requests
// continue.
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

// Close ends slow answers and notices, writes the staged lines and closes the record. Later sends get a 503. The caller
// stops the HTTP server, preferably before.
func (s *Simulator) Close() error {
	s.once.Do(func() { close(s.closed) })
	s.sender.stop()
	return s.record.close()
}

// now returns the clock in microseconds, but never earlier than any time seen before, also in the record: a clock that is
// set back must not undo an effect.
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

// account returns the settings of an account.
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

// profile returns the profile of an account, with KeyLifetime applied.
func (s *Simulator) profile(account string) profile {
	a, _ := s.account(account)
	p, _ := profileOf(a.Profile)
	if p.lifetime > 0 && s.cfg.KeyLifetime > 0 {
		p.lifetime = s.cfg.KeyLifetime
	}
	return p
}
