// Package config reads the configuration: one YAML file for accounts, bridges and times, and environment variables and
// flags for everything else. It reports all faults at once.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// File is the YAML file. An unknown key is a fault.
type File struct {
	Accounts map[string]Account `yaml:"accounts"`
	Bridges  map[string]Bridge  `yaml:"bridges"`
	Times    Times              `yaml:"times"`
}

// Account is one channel account.
type Account struct {
	Channel  string      `yaml:"channel"` // a kind of channel
	Tenants  []string    `yaml:"tenants"` // codes of the tenants that can use it
	Contract Contract    `yaml:"contract"`
	Settings RawSettings `yaml:",inline"` // of the kind of channel
}

// Contract has the profile of the contract and the terms in which the account differs from it. Zero = as in the profile.
type Contract struct {
	Profile   string        `yaml:"profile"`
	PerSecond int           `yaml:"perSecond"` // calls per second of each process
	Spacing   time.Duration `yaml:"spacing"`   // between sends for one payment
	Waits     Waits         `yaml:"waits"`
}

// Waits are the times after which a case is opened. Zero = as in the profile.
type Waits struct {
	Pending  time.Duration `yaml:"pending"`
	Unknown  time.Duration `yaml:"unknown"`
	Accepted time.Duration `yaml:"accepted"`
}

// Terms returns the ready-made contract of the profile with the terms of the account. Errors: an unknown profile, terms
// that are not valid.
func (c Contract) Terms(kind ChannelKind) (refund.Contract, error) {
	t, ok := kind.Contract(c.Profile)
	if !ok {
		return t, fmt.Errorf("%q is not one of: %s", c.Profile, strings.Join(kind.Profiles(), ", "))
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

// Times are the time limits of ownership and waiting. Zero = the default of the package that uses it.
type Times struct {
	Lease      time.Duration `yaml:"lease"`      // ownership of one call
	SendWindow time.Duration `yaml:"sendWindow"` // from the claim to the first byte
	Margin     time.Duration `yaml:"margin"`     // no first byte is sent so shortly before the lease's end
	Call       time.Duration `yaml:"call"`       // longest time to an answer
	Sweep      time.Duration `yaml:"sweep"`      // between two passes of the sweeper
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Load reads and checks the file at path. The error lists all its faults.
func Load(path string, kinds Kinds) (File, error) {
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return File{}, fmt.Errorf("configuration: %w", err)
	}
	f, err := Parse(raw, kinds)
	if err != nil {
		return f, fmt.Errorf("configuration %s:\n%w", path, err)
	}
	return f, nil
}

// Parse reads and checks the text of a file.
func Parse(raw []byte, kinds Kinds) (File, error) {
	var f File
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return f, errors.New("the file must be one YAML document")
	}
	return f, f.check(kinds)
}

func (f File) check(kinds Kinds) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(f.Accounts)) {
		faults = append(faults, At("accounts."+name, f.Accounts[name].faults(name, kinds.Channels).Err()))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Bridges)) {
		faults = append(faults, At("bridges."+name, f.Bridges[name].faults(name, kinds.Brokers).Err()))
	}
	return errors.Join(append(faults, At("times", f.Times.faults(kinds).Err()))...)
}

func (a Account) faults(name string, kinds map[string]ChannelKind) Faults {
	var out Faults
	out.AddIf(!accountName.MatchString(name), ": a name is a-z, 0-9 and -, at most 63 characters")
	out.AddIf(len(a.Tenants) == 0, ".tenants: at least one tenant is required")
	for _, t := range a.Tenants {
		out.AddIf(!refund.ValidTenantCode(t), ".tenants: %q is not a tenant code", t)
	}
	kind, known := kinds[a.Channel]
	if !known { // the other settings cannot be checked
		out.AddIf(true, ".channel: %q is not one of: %s", a.Channel, names(kinds))
		return out
	}
	_, profile := kind.Contract(a.Contract.Profile)
	_, err := a.Contract.Terms(kind)
	out.AddIf(!profile, ".contract.profile: %v", err)
	out.AddIf(profile && err != nil, ".contract: %v", err)
	return append(out, faultsOf(kind.Check(a.Settings.Node()))...)
}

func (t Times) faults(kinds Kinds) Faults {
	var out Faults
	for _, x := range []struct {
		name string
		d    time.Duration
	}{{"lease", t.Lease}, {"sendWindow", t.SendWindow}, {"margin", t.Margin}, {"call", t.Call}, {"sweep", t.Sweep}} {
		out.AddIf(x.d < 0 || x.d > 10*time.Minute, ".%s: must be between 0 and 10m", x.name)
	}
	if kinds.Times == nil {
		return out
	}
	return append(out, kinds.Times(t)...)
}
