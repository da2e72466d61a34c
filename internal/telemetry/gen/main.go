// Command gen writes the metrics page: go run ./gen FILE.
package main

import (
	"fmt"
	"os"

	"github.com/refundry/refundry/internal/telemetry"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(telemetry.Markdown()), 0o644); err != nil { // #nosec G306 G703 -- documentation, where the caller wants it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
