package bodies

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// BlockSize is how many requests share one recorded hash.
const BlockSize = 1000

//go:embed testdata/readings.txt
var recorded string

// quick are the blocks that every test run checks; CONFORMANCE=full checks all.
var quick = []int{7, 31, 53, 68, 91}

// Environment of a run that looks closer or records; both are explained where Check fails and in testdata/readings.txt.
const (
	envBlock  = "READINGS_BLOCK"
	envDump   = "READINGS_DUMP"
	envRecord = "READINGS_RECORD"
)

// Intended is a difference from what was recorded that is meant. Line gets a line of now and returns the line as it was
// recorded; it returns lines that are none of its business unchanged.
type Intended struct {
	Why  string
	Line func(line string) string
}

// leastTaken is how many of a hundred requests of every block must be taken, so that the corpus cannot come to hold nothing
// but refusals.
const leastTaken = 40

// Check reads requests of a part of the corpus and compares what was made of them with what was recorded, block by block.
func Check(t *testing.T, part Range, intended []Intended, read func(Request) Reading) {
	t.Helper()
	hashes, fresh := hashesOf(recorded), map[int]string{}
	found := histogram{}
	for _, block := range blocks(part) {
		lines, taken := readBlock(block, intended, read, found)
		if block == asked() {
			dump(t, block, lines)
		}
		if taken*100 < leastTaken*BlockSize {
			t.Errorf("block %d: %d of %d requests are taken, want %d of 100 at least", block, taken, BlockSize, leastTaken)
		}
		sum := sha256.Sum256([]byte(strings.Join(lines, "\n") + "\n"))
		got := hex.EncodeToString(sum[:])
		if os.Getenv(envRecord) != "" {
			fresh[block] = got
		} else if got != hashes[block] {
			t.Error(failure(t.Name(), block))
		}
	}
	if os.Getenv(envRecord) != "" {
		record(t, fresh)
	}
	t.Log(found.String())
}

// blocks lists what this run checks of a part.
func blocks(part Range) []int {
	var out []int
	for b := part.First / BlockSize; b < part.Last/BlockSize; b++ {
		switch {
		case asked() >= 0 && b != asked():
		case asked() >= 0, os.Getenv("CONFORMANCE") == "full", os.Getenv(envRecord) != "", slices.Contains(quick, b):
			out = append(out, b)
		}
	}
	return out
}

// asked is the one block that is looked at closer, -1 without one.
func asked() int {
	n, err := strconv.Atoi(os.Getenv(envBlock))
	if err != nil {
		return -1
	}
	return n
}

func readBlock(block int, intended []Intended, read func(Request) Reading, found histogram) (lines []string, taken int) {
	for i := block * BlockSize; i < (block+1)*BlockSize; i++ {
		r := At(i)
		got := read(r)
		if got.Code == "" && len(got.Places) == 0 {
			taken++
		}
		found.count(r, got)
		l := line(r, got)
		for _, d := range intended {
			l = d.Line(l)
		}
		lines = append(lines, l)
	}
	return lines, taken
}

func failure(test string, block int) string {
	return fmt.Sprintf(`block %[2]d: requests %[3]d to %[4]d are not read as recorded.
To see which, run this in the test's folder at a commit where it passes and at this one, with another file, and compare the files:
	%[5]s=%[2]d %[6]s=/tmp/before.txt go test -count=1 -run '^%[1]s$' .
	diff /tmp/before.txt /tmp/after.txt
A difference that is meant goes into the table intended of the test.`, test, block, block*BlockSize, (block+1)*BlockSize-1, envBlock, envDump)
}

// dump writes the lines of a block, each with its request below.
func dump(t *testing.T, block int, lines []string) {
	t.Helper()
	name := os.Getenv(envDump)
	if name == "" {
		return
	}
	const most = 4096
	var b strings.Builder
	for i, l := range lines {
		all := strings.TrimSuffix(At(block*BlockSize+i).everything(), "\n")
		cut := all[:min(len(all), most)]
		fmt.Fprintf(&b, "%s\n", l)
		for part := range strings.SplitSeq(cut, "\n") {
			fmt.Fprintf(&b, "\t%s\n", strconv.QuoteToASCII(part))
		}
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil { //nolint:gosec // the file that whoever runs the test has named
		t.Fatal(err)
	}
}

// hashesOf reads the recorded hashes: a block's number and its hash on every line, # before comments.
func hashesOf(text string) map[int]string {
	out := map[int]string{}
	for l := range strings.Lines(text) {
		number, hash, ok := strings.Cut(strings.TrimSpace(l), " ")
		if n, err := strconv.Atoi(number); ok && err == nil {
			out[n] = hash
		}
	}
	return out
}

// record puts fresh hashes into the file that the environment names; comments and other hashes stay.
func record(t *testing.T, fresh map[int]string) {
	t.Helper()
	name := os.Getenv(envRecord)
	old, err := os.ReadFile(name) //nolint:gosec // the file that whoever runs the test has named
	if err != nil {
		t.Fatal(err)
	}
	all := hashesOf(string(old))
	maps.Copy(all, fresh)
	var b strings.Builder
	for l := range strings.Lines(string(old)) {
		if strings.HasPrefix(l, "#") {
			b.WriteString(l)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%02d %s\n", n, all[n])
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil { //nolint:gosec // the file that whoever runs the test has named
		t.Fatal(err)
	}
}
