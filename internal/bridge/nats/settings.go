package nats

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/config"
)

// Kind is NATS JetStream.
var Kind = bridge.Kind{Name: "nats", DecodeSettings: decodeSettings, Open: openKind}

// Settings of a subscription in the configuration.
type Settings struct {
	URL          string              `yaml:"url"`          // nats:// or tls://, several separated by commas
	Stream       string              `yaml:"stream"`       // JetStream stream
	Subjects     []string            `yaml:"subjects"`     // of it
	SubjectForm  string              `yaml:"subjectForm"`  // as refundry.in.{tenant}.{type}; absent = a subject tells nothing about an event
	CreateStream bool                `yaml:"createStream"` // create a missing stream
	TLS          *TLSSettings        `yaml:"tls"`
	Credentials  *CredentialSettings `yaml:"credentials"`
}

// TLSSettings are the paths of certificates.
type TLSSettings struct {
	CA   string `yaml:"ca"`   // absent = the system's
	Cert string `yaml:"cert"` // of the client
	Key  string `yaml:"key"`
}

// CredentialSettings are the credentials of the bridge, with the places of secrets. Exactly one kind is set.
type CredentialSettings struct {
	File     string         `yaml:"file"` // a .creds file
	NKey     string         `yaml:"nkey"` // a file with an nkey's seed
	Token    *config.Secret `yaml:"token"`
	User     string         `yaml:"user"`
	Password *config.Secret `yaml:"password"`
}

func decodeSettings(node yaml.Node) (bridge.Settings, error) {
	var s Settings
	faults := config.Decode(node, &s)
	for one := range strings.SplitSeq(s.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		bad := err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Host == "" || u.User != nil
		faults.AddIf(bad, ".url: must be nats:// or tls:// without a user")
	}
	faults.AddIf(s.Stream == "" || strings.ContainsAny(s.Stream, " .*>/\\\t"), ".stream: must be the name of a stream")
	faults.AddIf(len(s.Subjects) == 0, ".subjects: at least one subject")
	for _, one := range s.Subjects {
		faults.AddIf(one == "" || strings.ContainsAny(one, " \t"), ".subjects: %q is not a subject", one)
	}
	faults.AddIf(s.SubjectForm != "" && !validForm(s.SubjectForm),
		".subjectForm: must have {tenant} as one token and end with {type}, as refundry.in.{tenant}.{type}")
	if t := s.TLS; t != nil {
		faults.AddIf((t.Cert == "") != (t.Key == ""), ".tls: cert and key come together")
	}
	s.Credentials.check(&faults)
	return s, faults.Err()
}

func (c *CredentialSettings) check(faults *config.Faults) {
	if c == nil {
		return
	}
	kinds := 0
	for _, set := range []bool{c.File != "", c.NKey != "", c.Token != nil, c.User != "" || c.Password != nil} {
		if set {
			kinds++
		}
	}
	faults.AddIf(kinds != 1, ".credentials: one of file, nkey, token, user and password")
	faults.AddIf((c.User == "") != (c.Password == nil), ".credentials: user and password come together")
	c.Token.Check(".credentials.token", faults)
	c.Password.Check(".credentials.password", faults)
}

// CheckSecrets implements bridge.Settings.
func (s Settings) CheckSecrets() error {
	_, faults := s.secrets()
	readable := func(at, path string) {
		if path == "" {
			return
		}
		file, err := os.Open(path)
		if err == nil {
			err = file.Close()
		}
		faults.AddIf(err != nil, "%s: %v", at, err)
	}
	if t := s.TLS; t != nil {
		readable(".tls.ca", t.CA)
		readable(".tls.cert", t.Cert)
		readable(".tls.key", t.Key)
	}
	if c := s.Credentials; c != nil {
		readable(".credentials.file", c.File)
		readable(".credentials.nkey", c.NKey)
	}
	return faults.Err()
}

// Bounds implements bridge.Settings.
func (s Settings) Bounds() bool { return s.SubjectForm != "" }

// Summary implements bridge.Settings.
func (s Settings) Summary() string {
	return fmt.Sprintf("%s, stream %s, %s", s.URL, s.Stream, strings.Join(s.Subjects, " "))
}

// secrets reads the secrets of the credentials.
func (s Settings) secrets() (out Credentials, faults config.Faults) {
	c := s.Credentials
	if c == nil {
		return out, nil
	}
	token, err := c.Token.Read()
	faults.AddIf(err != nil, ".credentials.token: %v", err)
	password, err := c.Password.Read()
	faults.AddIf(err != nil, ".credentials.password: %v", err)
	return Credentials{File: c.File, NKeyFile: c.NKey, Token: token, User: c.User, Password: password}, faults
}

func openKind(settings bridge.Settings, d bridge.Deps) (bridge.Opener, error) {
	s, ok := settings.(Settings)
	if !ok {
		return nil, errors.New("nats: the settings are those of another kind of broker")
	}
	login, faults := s.secrets()
	if err := faults.Err(); err != nil {
		return nil, err
	}
	cfg := Config{URL: s.URL, Stream: s.Stream, Durable: "refundry-" + d.Consumer, Subjects: s.Subjects, SubjectForm: s.SubjectForm,
		CreateStream: s.CreateStream, Credentials: login, Logger: d.Logger}
	if t := s.TLS; t != nil {
		cfg.TLS = TLS{CAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key}
	}
	return Opener(cfg)
}
