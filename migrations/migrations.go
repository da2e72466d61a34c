// Package migrations holds the SQL of the schema, embedded. The files are forward-only and are applied in the order of their numbers by
// store.Migrate, each in its own transaction, with the search path set to the schema that they fill. Steps that need Go (River's own
// tables) have numbers of their own there.
package migrations

import "embed"

// FS holds the files NNNN_name.sql.
//
//go:embed *.sql
var FS embed.FS
