package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// readSigningKey reads an ed25519 private key from file:PATH or env:NAME: PKCS #8 in PEM, or the 32-byte seed in hex. "" = none.
// The error contains the place of the key, never its content.
func readSigningKey(from string) (ed25519.PrivateKey, error) {
	if from == "" {
		return nil, nil
	}
	text, err := readPlace(from)
	if err != nil {
		return nil, fmt.Errorf("--anchor-key: %w", err)
	}
	if seed, err := hex.DecodeString(text); err == nil && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if k, ok := key.(ed25519.PrivateKey); err == nil && ok {
			return k, nil
		}
	}
	return nil, fmt.Errorf("--anchor-key: %s holds no ed25519 private key (PKCS #8 in PEM, or 64 hex digits)", from)
}

// readPublicKey reads an ed25519 public key: 64 hex digits, or file:PATH of a PEM or of the digits. "" = none.
func readPublicKey(from string) (ed25519.PublicKey, error) {
	if from == "" {
		return nil, nil
	}
	text := from
	if strings.HasPrefix(from, "file:") || strings.HasPrefix(from, "env:") {
		var err error
		if text, err = readPlace(from); err != nil {
			return nil, fmt.Errorf("--anchor-public-key: %w", err)
		}
	}
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == ed25519.PublicKeySize {
		return raw, nil
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if k, ok := key.(ed25519.PublicKey); err == nil && ok {
			return k, nil
		}
	}
	return nil, errors.New("--anchor-public-key: no ed25519 public key (64 hex digits, or file:PATH of a PEM)")
}

func readPlace(from string) (string, error) {
	kind, name, _ := strings.Cut(from, ":")
	switch kind {
	case "env":
		if v := strings.TrimSpace(os.Getenv(name)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is empty", name)
	case "file":
		raw, err := os.ReadFile(filepath.Clean(name))
		return strings.TrimSpace(string(raw)), err
	}
	return "", fmt.Errorf("%q is neither file:PATH nor env:NAME", kind)
}
