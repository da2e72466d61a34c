package pg

import (
	"reflect"
	"testing"
)

func TestNamedNumbersItsParameters(t *testing.T) {
	t.Parallel()
	type args struct {
		ID    int64   `arg:"id"`
		Other string  `arg:"other"`
		Name  *string `arg:"name"`
	}
	s := Named[args](`UPDATE t SET name = @name::text, was = @id WHERE id = @id AND tags <> '{}'::text[]`)
	if want := `UPDATE t SET name = $1::text, was = $2 WHERE id = $2 AND tags <> '{}'::text[]`; s.SQL != want {
		t.Errorf("SQL %q, want %q", s.SQL, want)
	}
	name := "n"
	if got, want := s.Args(&args{ID: 7, Name: &name}), []any{&name, int64(7)}; !reflect.DeepEqual(got, want) {
		t.Errorf("arguments %v, want %v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a name without a field")
		}
	}()
	Named[args](`SELECT @missing`)
}

// recordedRow gives a number to every target.
type recordedRow struct{ n int }

func (r *recordedRow) Scan(dest ...any) error {
	for _, d := range dest {
		r.n++
		*d.(*int) = r.n
	}
	return nil
}

func TestScanReadsFieldsInOrder(t *testing.T) {
	t.Parallel()
	type row struct {
		A int `sql:"t.a"`
		B int `sql:"coalesce(t.b, 0)"`
	}
	var more int
	got, err := Scan[row](&recordedRow{}, &more)
	if err != nil || *got != (row{1, 2}) || more != 3 {
		t.Errorf("%+v, %d, %v; want 1, 2 and 3", got, more, err)
	}
	if want := "t.a, coalesce(t.b, 0)"; Columns[row]() != want {
		t.Errorf("columns %q, want %q", Columns[row](), want)
	}
}
