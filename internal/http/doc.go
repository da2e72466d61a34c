// Package httpapi serves the REST contract of api/openapi.yaml. Its folder is named
// after the protocol; the package is not named http because of net/http.
//
// A request passes, in this order: request id and security headers, panic guard,
// routing, API key and scope, media type, size, strict JSON, the parameters of the
// contract, the body (package wire, or the contract's schema), and one handler per
// operation. Every error is written as an RFC 9457 problem by one function.
package httpapi

// The server comes first: errdoc does not compile against an old one.
//go:generate go generate ./oapi
//go:generate go run ./errdoc ../../docs/errors.md
