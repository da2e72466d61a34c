// Command refundry takes refund requests over REST and from events and makes each of them happen exactly once at its
// payment channel, as far as that can be known. `refundry --help` lists what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version and commit are set at build time (make build).
var (
	version = "dev"
	commit  = "unknown"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "refundry:", err)
		code := 1
		if e := (exitError{}); errors.As(err, &e) {
			code = e.code
		}
		os.Exit(code)
	}
}
