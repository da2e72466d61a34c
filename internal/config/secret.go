package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Secret is the place of a secret: an environment variable or a file. It never has the secret itself.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// Check adds a fault when there is no place, or more than one. at is the path of the secret. A nil secret is valid.
func (s *Secret) Check(at string, f *Faults) {
	f.AddIf(s != nil && (s.Env == "") == (s.File == ""), "%s: name either env or file", at)
}

// Read returns the secret. The error contains its place, never its content.
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
