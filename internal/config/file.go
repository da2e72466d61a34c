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
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// File is the YAML file. An unknown key is a fault.
type File struct {
	Accounts map[string]Account `yaml:"accounts"`
	Bridges  map[string]Bridge  `yaml:"bridges"`
	Times    Times              `yaml:"times"`
	Notices  Notices            `yaml:"notices"`
}

// Account is one channel account.
type Account struct {
	Channel    string      `yaml:"channel"` // a kind of channel
	Tenants    []string    `yaml:"tenants"` // codes of the tenants that can use it
	References References  `yaml:"references"`
	Contract   Contract    `yaml:"contract"`
	Settings   RawSettings `yaml:",inline"` // of the kind of channel
}

// Times are the time limits of ownership and waiting. Zero = the default of the package that uses it.
type Times struct {
	Lease      time.Duration `yaml:"lease"`      // ownership of one call
	SendWindow time.Duration `yaml:"sendWindow"` // from the claim to the first byte
	Margin     time.Duration `yaml:"margin"`     // no first byte is sent so shortly before the lease's end
	Call       time.Duration `yaml:"call"`       // longest time to an answer
	Enter      time.Duration `yaml:"enter"`      // longest time to store an answer before the process keeps it and goes on
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
	return errors.Join(append(faults, At("times", f.Times.faults(kinds).Err()), At("notices", f.Notices.faults().Err()))...)
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
	contract, profile := kind.Contract(a.Contract.Profile)
	if profile {
		a.referenceFaults(contract.References, &out)
	}
	_, err := a.Terms(kind)
	for _, fault := range faultsOf(err) {
		out = append(out, ".contract"+fault)
	}
	return append(out, faultsOf(kind.Check(a.Settings.Node()))...)
}

func (t Times) faults(kinds Kinds) Faults {
	var out Faults
	for _, x := range []struct {
		name string
		d    time.Duration
	}{{"lease", t.Lease}, {"sendWindow", t.SendWindow}, {"margin", t.Margin}, {"call", t.Call}, {"enter", t.Enter}, {"sweep", t.Sweep}} {
		out.AddIf(x.d < 0 || x.d > 10*time.Minute, ".%s: must be between 0 and 10m", x.name)
	}
	if kinds.Times == nil {
		return out
	}
	return append(out, kinds.Times(t)...)
}
