// Command stopserver stops the PostgreSQL of the tests, unless tests are running. `make test` calls it at its end.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	did, err := dbtest.StopShared(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stopserver:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, did)
}
