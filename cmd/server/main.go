// Command refundry accepts refund requests over REST and as events and makes each of them happen exactly once at its payment
// channel; where the outcome cannot be known, it opens a case. `refundry --help` lists its verbs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version and commit are set by make build.
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
