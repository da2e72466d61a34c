package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// noticesOf returns the URL to which the simulator posts notices.
func noticesOf(api string) string { return api + "/v1/channels/{account}/notices" }

// demoNoticeSecret creates the secret with which the simulator signs its notices, or reads that of the last run. Only the owner
// can read the file.
func demoNoticeSecret(dir string) (path, secret string, err error) {
	path = filepath.Join(dir, "demo-notice-secret")
	raw, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		if secret = strings.TrimSpace(string(raw)); secret == "" {
			return path, "", fmt.Errorf("%s is empty (remove it, and a new secret is created)", path)
		}
		return path, secret, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return path, "", err
	}
	var random [24]byte
	if _, err := rand.Read(random[:]); err != nil {
		return path, "", err
	}
	secret = hex.EncodeToString(random[:])
	return path, secret, os.WriteFile(path, []byte(secret+"\n"), 0o600)
}
