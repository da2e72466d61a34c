package verify

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestPageCursorBefore(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"00000000-0000-7000-8000-000000000001": "00000000-0000-7000-8000-000000000000",
		"00000000-0000-7001-0000-000000000000": "00000000-0000-7000-ffff-ffffffffffff",
	} {
		var a, b pgtype.UUID
		if err := a.Scan(in); err != nil {
			t.Fatal(err)
		}
		if err := b.Scan(want); err != nil {
			t.Fatal(err)
		}
		if got := (pageCursor{tenant: 1, rid: a.Bytes}).before(); got.rid != b.Bytes || got.tenant != 1 {
			t.Errorf("before %s is %x", in, got.rid)
		}
	}
}
