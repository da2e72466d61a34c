// Package oapi is generated from api/openapi.yaml: the models, the chi routes and
// the strict server interface that package httpapi implements.
package oapi

//go:generate go tool -modfile=../../../tools/go.mod oapi-codegen -config config.yaml ../../../api/openapi.yaml
