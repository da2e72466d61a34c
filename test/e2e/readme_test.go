package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// TestReadmeTour runs the tour of the README on a new server and compares the output. It parses the curl lines instead of
// running them, since a test machine may have neither curl nor jq.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, printed := tour(string(text))
	if len(commands) < 3 || len(commands) != len(printed) {
		t.Fatalf("the tour has %d commands and prints %d lines, want at least 3 and a line for each", len(commands), len(printed))
	}
	ctx := bounded(t, 2*time.Minute)
	dev := harness.StartDev(t)
	api := dev.Client()
	for i, line := range commands {
		c, err := readCurl(line, map[string]string{"KEY": dev.Info().APIKey})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		res, err := api.Once(ctx, c.method, c.path, c.header, c.body)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := shows(printed[i], c.filter, res.Body); err != nil {
			t.Errorf("%s\n%v\nthe page shows\n%s\nthe server said, with status %d\n%s", line, err, printed[i], res.Status, res.Body)
		}
	}
}

// tour returns the lines of the two blocks of the tour: the commands and the output.
func tour(page string) (commands, printed []string) {
	_, page, _ = strings.Cut(page, "<!-- tour:begin -->")
	page, _, _ = strings.Cut(page, "<!-- tour:end -->")
	blocks := strings.Split(page, "```")
	if len(blocks) < 4 {
		return nil, nil
	}
	lines := func(block string) []string {
		_, inside, _ := strings.Cut(block, "\n") // the language
		return strings.Split(strings.TrimSpace(inside), "\n")
	}
	return lines(blocks[1]), lines(blocks[3])
}

// curl is a request as a line of the page describes it.
type curl struct {
	method, path, body string
	header             harness.Headers
	filter             string // of jq; "" = none
}

// word matches one word of a shell line: bare, in single quotes, or in double quotes.
var word = regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^\s'"]+)`)

// readCurl parses the few forms that the page uses: curl -s URL -H … -d … | jq -c FILTER, with $NAME outside single quotes.
func readCurl(line string, vars map[string]string) (curl, error) {
	c := curl{method: http.MethodGet, header: harness.Headers{}}
	var words []string
	for _, w := range word.FindAllStringSubmatch(line, -1) {
		text := w[1]
		if text == "" {
			text = os.Expand(w[2]+w[3], func(name string) string { return vars[name] })
		}
		words = append(words, text)
	}
	if len(words) == 0 || words[0] != "curl" {
		return c, fmt.Errorf("does not begin with curl")
	}
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-s":
		case w == "|" && i+4 == len(words) && words[i+1] == "jq" && words[i+2] == "-c":
			c.filter = words[i+3]
			return c, nil
		case (w == "-H" || w == "-d" || w == "-X") && i+1 < len(words):
			i++
			switch w {
			case "-H":
				name, value, _ := strings.Cut(words[i], ":")
				c.header[name] = strings.TrimSpace(value)
			case "-d":
				c.method, c.body = http.MethodPost, words[i]
			case "-X":
				c.method = words[i]
			}
		case strings.Contains(w, "localhost:8080/") || strings.Contains(w, "127.0.0.1:8080/"):
			_, path, _ := strings.Cut(w, ":8080")
			c.path = path
		default:
			return c, fmt.Errorf("the word %q is not understood", w)
		}
	}
	return c, nil
}

var (
	pick = regexp.MustCompile(`^\{([A-Za-z0-9,]+)\}$`)                        // {a,b}
	each = regexp.MustCompile(`^\[\.([A-Za-z0-9]+)\[\]\|\.([A-Za-z0-9]+)\]$`) // [.a[]|.b]
)

// shows compares a printed line with an answer after a filter of jq.
func shows(line, filter string, body []byte) error {
	var want any
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &want); err != nil {
		return fmt.Errorf("the printed line is not JSON: %w", err)
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return err
	}
	var seen any = got
	if m := pick.FindStringSubmatch(filter); m != nil {
		some := map[string]any{}
		for name := range strings.SplitSeq(m[1], ",") {
			some[name] = got[name]
		}
		seen = some
	} else if m := each.FindStringSubmatch(filter); m != nil {
		list, _ := got[m[1]].([]any)
		column := []any{}
		for _, item := range list {
			row, _ := item.(map[string]any)
			column = append(column, row[m[2]])
		}
		seen = column
	} else if filter != "" {
		return fmt.Errorf("the filter %q is not understood", filter)
	}
	if !reflect.DeepEqual(seen, want) {
		text, _ := json.Marshal(seen)
		return fmt.Errorf("is not the output:\n%s", text)
	}
	return nil
}
