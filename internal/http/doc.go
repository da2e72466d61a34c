// Package httpapi serves the REST contract of api/openapi.yaml. A request passes,
// in this order: request id and security headers, panic guard, routing, API key
// and scope, media type, size, the strict JSON reader, the contract's schemas,
// and then one handler per operation that turns it into domain words. Whatever
// goes wrong on the way ends in one writer of RFC 9457 problems.
package httpapi

//go:generate go run ./errdoc ../../docs/errors.md
