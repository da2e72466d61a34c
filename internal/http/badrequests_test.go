package httpapi_test

import (
	"slices"
	"testing"

	"github.com/refundry/refundry/internal/http/badrequesttest"
)

// Every bad request gets its problem and reaches nothing behind the API. Cases C9 and
// C14 of docs/cases.md are in the table.
func TestBadRequestsTouchNothing(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	if n := len(badrequesttest.Cases()); n < 60 {
		t.Fatalf("the table has %d cases, want at least 60", n)
	}
	badrequesttest.Run(t, badrequesttest.Target{BaseURL: c.base, Client: c.http, WriterKey: writerKey, ReaderKey: readerKey, Untouched: func(t *testing.T) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.touched) > 0 {
			t.Errorf("a bad request reached %v", w.touched)
			w.touched = nil
		}
	}})
}

// Names of cases are unique.
func TestBadRequestNamesAreUnique(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range badrequesttest.Cases() {
		if slices.Contains(names, c.Name) {
			t.Errorf("two cases have the name %q", c.Name)
		}
		names = append(names, c.Name)
	}
}
