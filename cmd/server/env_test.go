package main

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestEnvironmentStandsForFlags(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	url := flags.String("database-url", "", "")
	port := flags.Int("port", 1, "")
	if err := flags.Parse([]string{"--port", "2"}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"REFUNDRY_DATABASE_URL": "postgres://x", "REFUNDRY_PORT": "3"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	if err := bindEnv(flags, lookup); err != nil || *url != "postgres://x" || *port != 2 {
		t.Errorf("url %q port %d err %v: want the environment for the flags that the command line leaves out", *url, *port, err)
	}
	env["REFUNDRY_NUMBER"] = "seven"
	flags.Int("number", 0, "")
	if err := bindEnv(flags, lookup); err == nil {
		t.Error("a value that is not valid for its flag was accepted")
	}
}
