package telemetry

//go:generate go run ./gen ../../docs/metrics.md
