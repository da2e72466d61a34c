package pg

import (
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/refund"
)

// schemaNamePattern keeps names simple enough to need no quoting anywhere and short enough for River, which puts them into channel
// names of at most 63 bytes.
var schemaNamePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,45}$`)

func CheckSchemaName(schema string) error {
	if !schemaNamePattern.MatchString(schema) {
		return fmt.Errorf("schema name %q: want %s", schema, schemaNamePattern)
	}
	return nil
}

// NewRID makes a time-ordered id: uuid version 7, monotone in this process.
func NewRID() refund.RID { return refund.RID(uuid.Must(uuid.NewV7())) }
