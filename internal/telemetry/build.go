package telemetry

// SetBuild shows which build runs: refundry_build_info is 1 with these labels. It is called once, before the page is served.
func (m *Metrics) SetBuild(version, commit, goVersion string) {
	m.build.WithLabelValues(version, commit, goVersion).Set(1)
}
