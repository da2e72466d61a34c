package telemetry

import (
	"fmt"
	"sort"
	"strings"
)

// Markdown returns the content of docs/metrics.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\n" +
		"Served at `/metrics` in the Prometheus text format. " +
		"Generated from `internal/telemetry`; regenerate with `go generate ./internal/telemetry`.\n\n")
	b.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range Definitions() {
		labels := append([]string(nil), d.Labels...)
		sort.Strings(labels)
		fmt.Fprintf(&b, "| `refundry_%s` | %s | %s | %s |\n", d.Name, d.Kind, strings.Join(labels, ", "), d.Help)
	}
	b.WriteString("\nThe Go runtime's and the process's own metrics (`go_*`, `process_*`) are served beside them.\n")
	return b.String()
}
