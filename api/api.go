// Package api holds the contracts of the service as text, so that the server can
// hand out exactly what its code was generated from.
package api

import _ "embed"

// OpenAPI is the REST contract, OpenAPI 3.1 in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
