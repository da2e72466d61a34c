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

// noticesOf is where a channel tells its notices of an account, for the simulator.
func noticesOf(api string) string { return api + "/v1/channels/{account}/notices" }

// demoNoticeSecret makes the secret that the simulator signs its notices with, or finds that of the last run. The file is
// readable by its owner only.
func demoNoticeSecret(dir string) (path, secret string, err error) {
	path = filepath.Join(dir, "demo-notice-secret")
	raw, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		if secret = strings.TrimSpace(string(raw)); secret == "" {
			return path, "", fmt.Errorf("%s is empty (remove it, a new one will be made)", path)
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
