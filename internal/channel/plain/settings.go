package plain

import (
	"errors"
	"fmt"
	"net/url"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/refund"
)

// Kind is the kind of the plain channel.
var Kind = channel.Kind{Name: "plain", Contracts: Contracts, DecodeSettings: decodeSettings, Open: open}

// Settings are the settings of an account at the plain channel.
type Settings struct {
	Endpoint string         `yaml:"endpoint"` // http or https URL
	Secret   *config.Secret `yaml:"secret"`   // absent = the channel requires none
	// NoticeSecrets verify the channel's notices: the current secret first, earlier ones until their overlap ends. Absent =
	// every notice of the account is rejected.
	NoticeSecrets []config.Secret `yaml:"noticeSecrets"`
}

func decodeSettings(node yaml.Node) (channel.Settings, error) {
	var s Settings
	faults := config.Decode(node, &s)
	faults.AddIf(!validEndpoint(s.Endpoint), ".endpoint: must be an http or https URL without a user and a query")
	s.Secret.Check(".secret", &faults)
	for i, one := range s.NoticeSecrets {
		one.Check(fmt.Sprintf(".noticeSecrets[%d]", i), &faults)
	}
	return s, faults.Err()
}

func validEndpoint(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// CheckSecrets implements channel.Settings.
func (s Settings) CheckSecrets() error {
	_, _, err := s.secrets()
	return err
}

// Summary implements channel.Settings.
func (s Settings) Summary() string {
	secret := "no secret"
	if s.Secret != nil {
		secret = "a secret"
	}
	return fmt.Sprintf("%s, %s, %d for notices", s.Endpoint, secret, len(s.NoticeSecrets))
}

// secrets reads every secret. The error lists those that cannot be used.
func (s Settings) secrets() (secret string, notices []string, err error) {
	var faults config.Faults
	secret, err = s.Secret.Read()
	faults.AddIf(err != nil, ".secret: %v", err)
	for i, one := range s.NoticeSecrets {
		text, err := one.Read()
		faults.AddIf(err != nil, ".noticeSecrets[%d]: %v", i, err)
		faults.AddIf(err == nil && len(text) < shortestSecret, ".noticeSecrets[%d]: has at least %d characters", i, shortestSecret)
		notices = append(notices, text)
	}
	return secret, notices, faults.Err()
}

func open(settings channel.Settings, d channel.Deps) (refund.Channel, error) {
	s, ok := settings.(Settings)
	if !ok {
		return nil, errors.New("plain channel: the settings are those of another channel")
	}
	secret, notices, err := s.secrets()
	if err != nil {
		return nil, err
	}
	client, err := New(Config{Endpoint: s.Endpoint, Account: d.Account, Secret: secret, NoticeSecrets: notices, Codes: d.Contract.Codes,
		HTTP: d.HTTP})
	if err != nil {
		return nil, err
	}
	return client, nil
}
