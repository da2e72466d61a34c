package bodies_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refundtest/bodies"
)

// A request depends on its number alone, in whatever order requests are made.
func TestRequestsDependOnTheirNumberAlone(t *testing.T) {
	t.Parallel()
	numbers := []int{0, 1, 999, 49_999, 50_000, 59_999, 60_000, 77_777, 99_999}
	first := map[int]bodies.Request{}
	for _, i := range numbers {
		first[i] = bodies.At(i)
	}
	for n := len(numbers) - 1; n >= 0; n-- {
		if i := numbers[n]; !reflect.DeepEqual(bodies.At(i), first[i]) {
			t.Errorf("request %d is another one the second time", i)
		}
	}
}

// The families stand where their ranges say.
func TestFamiliesStandInTheirRanges(t *testing.T) {
	t.Parallel()
	for i := 0; i < bodies.Size; i += 97 {
		r := bodies.At(i)
		want := "POST"
		if i >= bodies.Payments.First {
			want = "PUT"
		}
		if i >= bodies.Events.First {
			want = ""
		}
		if r.Method != want || r.Index != i {
			t.Errorf("request %d has method %q and index %d, want %q and %d", i, r.Method, r.Index, want, i)
		}
		if structured := strings.HasPrefix(r.Kind, "structured-"); want == "" && structured == (r.Attributes != nil) {
			t.Errorf("request %d is called %s and has attributes %v", i, r.Kind, r.Attributes)
		}
	}
}
