package telemetry

// SetBuild sets refundry_build_info, with these labels, to 1. Call it once, before the metrics are served.
func (m *Metrics) SetBuild(version, commit, goVersion string) {
	m.build.WithLabelValues(version, commit, goVersion).Set(1)
}
