// Command errdoc writes docs/errors.md, named by its one argument.
package main

import (
	"bytes"
	"fmt"
	"os"

	httpapi "github.com/refundry/refundry/internal/http"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "errdoc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the file to write, got %d", len(args))
	}
	var b bytes.Buffer
	if err := httpapi.WriteErrorsDoc(&b); err != nil {
		return err
	}
	return os.WriteFile(args[0], b.Bytes(), 0o644) //nolint:gosec // a page of the documentation
}
