// Package config reads what an installation is told from outside: one YAML file for accounts, bridges and times, REFUNDRY_*
// environment variables and flags for the rest. Everything that is wrong is told at once.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// File is the YAML file. An unknown key is an error.
type File struct {
	Accounts map[string]Account `yaml:"accounts"`
	Bridges  map[string]Bridge  `yaml:"bridges"`
	Times    Times              `yaml:"times"`
}

// Account is one channel account.
type Account struct {
	Channel  string   `yaml:"channel"`  // adapter: plain
	Endpoint string   `yaml:"endpoint"` // http or https URL
	Tenants  []string `yaml:"tenants"`  // codes of the tenants that may use it
	Contract Contract `yaml:"contract"`
	Secret   *Secret  `yaml:"secret"` // absent = the channel wants none
	// NoticeSecrets sign the channel's notices: the one of now first, those before it until their overlap ends.
	// Absent = no notice of this account is taken.
	NoticeSecrets []Secret `yaml:"noticeSecrets"`
}

// Contract names what the channel promises, and what this account has otherwise. Zero = as the profile says.
type Contract struct {
	Profile   string        `yaml:"profile"`
	PerSecond int           `yaml:"perSecond"` // calls a second by each process
	Spacing   time.Duration `yaml:"spacing"`   // between sends for one payment
	Waits     Waits         `yaml:"waits"`
}

// Waits say after how long a case opens. Zero = as the profile says.
type Waits struct {
	Pending  time.Duration `yaml:"pending"`
	Unknown  time.Duration `yaml:"unknown"`
	Accepted time.Duration `yaml:"accepted"`
}

// Terms is the contract that this makes. Errors: an unknown profile, terms that cannot be kept.
func (c Contract) Terms() (refund.Contract, error) {
	t, ok := refund.Profile(c.Profile)
	if !ok {
		return t, fmt.Errorf("%q is not one of: %s", c.Profile, strings.Join(refund.Profiles(), ", "))
	}
	if c.PerSecond != 0 {
		t.Limits.PerSecond = c.PerSecond
	}
	for _, x := range []struct {
		said time.Duration
		term *refund.Duration
	}{{c.Spacing, &t.Limits.Spacing}, {c.Waits.Pending, &t.Waits.Pending}, {c.Waits.Unknown, &t.Waits.Unknown}, {c.Waits.Accepted, &t.Waits.Accepted}} {
		if x.said < 0 {
			return t, errors.New("a time must not be negative")
		}
		if x.said > 0 {
			*x.term = refund.Duration(x.said)
		}
	}
	return t, t.Validate()
}

// Secret says where a secret is. It never holds one.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// Times are the bounds of ownership and waiting. Zero = the default.
type Times struct {
	Lease      time.Duration `yaml:"lease"`      // 10s: how long an owner may be silent
	SendWindow time.Duration `yaml:"sendWindow"` // 3s: between a claim and the first byte
	Margin     time.Duration `yaml:"margin"`     // 2s: before the lease's end no byte leaves
	Call       time.Duration `yaml:"call"`       // 30s: how long an answer is waited for
	Sweep      time.Duration `yaml:"sweep"`      // 1s: between two passes of the sweeper
}

// Channels that exist.
var channels = map[string]bool{"plain": true}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Load reads and checks the file. The error lists everything that is wrong with it.
func Load(path string) (File, error) {
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return File{}, fmt.Errorf("configuration: %w", err)
	}
	f, err := Parse(raw)
	if err != nil {
		return f, fmt.Errorf("configuration %s:\n%w", path, err)
	}
	return f, nil
}

// Parse reads and checks the file's text.
func Parse(raw []byte) (File, error) {
	var f File
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return f, errors.New("the file must be one YAML document")
	}
	return f, f.check()
}

func (f File) check() error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(f.Accounts)) {
		for _, fault := range f.Accounts[name].faults(name) {
			faults = append(faults, fmt.Errorf("accounts.%s%s", name, fault))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Bridges)) {
		for _, fault := range f.Bridges[name].faults(name, f.Accounts) {
			faults = append(faults, fmt.Errorf("bridges.%s%s", name, fault))
		}
	}
	return errors.Join(append(faults, f.Times.faults()...)...)
}

func (a Account) faults(name string) []string {
	var out []string
	note := func(bad bool, text string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf(text, args...))
		}
	}
	note(!accountName.MatchString(name), ": a name is a-z, 0-9 and -, at most 63 characters")
	note(!channels[a.Channel], ".channel: %q is not one of: plain", a.Channel)
	u, err := url.Parse(a.Endpoint)
	note(err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil, ".endpoint: must be an http or https URL without a user")
	note(len(a.Tenants) == 0, ".tenants: at least one tenant")
	for _, t := range a.Tenants {
		note(!refund.ValidTenantCode(t), ".tenants: %q is not a tenant code", t)
	}
	_, known := refund.Profile(a.Contract.Profile)
	_, err = a.Contract.Terms()
	note(!known, ".contract.profile: %v", err)
	note(known && err != nil, ".contract: %v", err)
	for i, s := range a.NoticeSecrets {
		note((s.Env == "") == (s.File == ""), ".noticeSecrets[%d]: name either env or file", i)
	}
	note(a.Secret != nil && (a.Secret.Env == "") == (a.Secret.File == ""), ".secret: name either env or file")
	return out
}

func (t Times) faults() []error {
	var out []error
	for _, x := range []struct {
		name string
		d    time.Duration
	}{{"lease", t.Lease}, {"sendWindow", t.SendWindow}, {"margin", t.Margin}, {"call", t.Call}, {"sweep", t.Sweep}} {
		if x.d < 0 || x.d > 10*time.Minute {
			out = append(out, fmt.Errorf("times.%s: must lie between 0 and 10m", x.name))
		}
	}
	d := t.Defaults()
	if d.Lease <= d.Margin {
		out = append(out, errors.New("times.lease: must be longer than times.margin, else nothing can ever be sent"))
	}
	if d.Lease > refund.LongestLease {
		out = append(out, fmt.Errorf("times.lease: at most %s", refund.LongestLease))
	}
	return out
}

// Defaults fills in what was not said.
func (t Times) Defaults() Times {
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&t.Lease, 10*time.Second)
	or(&t.SendWindow, 3*time.Second)
	or(&t.Margin, 2*time.Second)
	or(&t.Call, 30*time.Second)
	or(&t.Sweep, time.Second)
	return t
}

// Read fetches the secret. The error names the place, never the content.
func (s *Secret) Read() (string, error) {
	if s == nil {
		return "", nil
	}
	if s.Env != "" {
		v, ok := os.LookupEnv(s.Env)
		if !ok || v == "" {
			return "", fmt.Errorf("secret: the environment variable %s is empty", s.Env)
		}
		return v, nil
	}
	raw, err := os.ReadFile(filepath.Clean(s.File))
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	v := strings.TrimRight(string(raw), "\r\n")
	if v == "" {
		return "", fmt.Errorf("secret: the file %s is empty", s.File)
	}
	return v, nil
}
