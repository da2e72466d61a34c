package verify

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/store/pg"
)

// hexBytes are bytes that JSON shows as lower-case hex.
type hexBytes []byte

// MarshalText implements encoding.TextMarshaler.
func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.AppendDecode(nil, b)
	return err
}

// anchorLine is one line of the anchors file: an anchor, or the beginning of an epoch after a restore (keptUpTo is set). The last line of
// every writing says how far the database was (seen); older files have no such member.
type anchorLine struct {
	Installation string       `json:"installation"`
	Epoch        int          `json:"epoch"`
	UptoPos      int64        `json:"uptoPos,omitempty"`
	Rows         int64        `json:"rows,omitempty"`
	Hash         hexBytes     `json:"hash,omitempty"`
	KeptUpTo     *int64       `json:"keptUpTo,omitempty"`
	Signature    hexBytes     `json:"signature,omitempty"`
	Seen         *pg.Sighting `json:"seen,omitempty"`
	At           time.Time    `json:"at"`
}

// anchorFile is a file as read: the anchors that still hold, and the signed beginnings of epochs.
type anchorFile struct {
	epoch   int
	anchors []anchorLine
	epochs  []anchorLine
	seen    pg.Sighting // the highest; without agreement in a file that has no member seen
}

// see adds what a line says about how far the database was.
func (f *anchorFile) see(l anchorLine) {
	s := pg.Sighting{Epoch: l.Epoch, Journal: l.UptoPos}
	switch {
	case l.Seen != nil:
		s = *l.Seen
		s.Epoch = l.Epoch
	case l.KeptUpTo != nil:
		s.Journal = *l.KeptUpTo
	}
	if l.Seen == nil && s.Epoch == f.seen.Epoch { // says nothing about the agreement
		s.AgreedAt = f.seen.AgreedAt
	}
	f.seen = f.seen.And(s)
}

// of reports whether the file is one of this installation.
func (f *anchorFile) of(installation string) bool {
	return len(f.anchors) > 0 && f.anchors[len(f.anchors)-1].Installation == installation ||
		len(f.epochs) > 0 && f.epochs[len(f.epochs)-1].Installation == installation
}

func (f *anchorFile) upto() int64 {
	if n := len(f.anchors); n > 0 {
		return f.anchors[n-1].UptoPos
	}
	return 0
}

// keep drops what a new epoch says is lost.
func (f *anchorFile) keep(epoch int, upto int64) {
	f.epoch = epoch
	for len(f.anchors) > 0 && f.upto() > upto {
		f.anchors = f.anchors[:len(f.anchors)-1]
	}
}

// readAnchorFile reads a file; a missing one is empty. A last line that a crash has cut short is left out, since its anchor is in
// the database; any other damage is an error.
func readAnchorFile(path string) (*anchorFile, error) {
	out := &anchorFile{}
	f, err := os.Open(filepath.Clean(path))
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("anchors: %w", err)
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		raw, err := r.ReadBytes('\n')
		if err != nil { // the end, or a line without its end
			return out, nil
		}
		var l anchorLine
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("anchors: %s line %d cannot be read: %w", path, n, err)
		}
		out.see(l)
		switch {
		case l.KeptUpTo != nil:
			out.keep(l.Epoch, *l.KeptUpTo)
			out.epochs = append(out.epochs, l)
		case l.UptoPos <= out.upto():
			return nil, fmt.Errorf("anchors: %s line %d goes back from position %d to %d", path, n, out.upto(), l.UptoPos)
		default:
			out.epoch = max(out.epoch, l.Epoch)
			out.anchors = append(out.anchors, l)
		}
	}
}

// appendAnchorFile adds lines and waits until they are on the disk.
func appendAnchorFile(path string, lines []anchorLine) (err error) {
	if len(lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := wholeLines(f)
	if err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	var text []byte
	for _, l := range lines {
		raw, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("anchors: %w", err)
		}
		text = append(append(text, raw...), '\n')
	}
	fault.Point(fault.AnchorFileBefore)
	if _, err := f.WriteAt(text, end); err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	fault.Point(fault.AnchorFileWritten)
	if err := f.Sync(); err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	fault.Point(fault.AnchorFileSynced)
	return nil
}

// wholeLines is where the last whole line ends; what a crash left behind it is cut off.
func wholeLines(f *os.File) (end int64, err error) {
	r := bufio.NewReader(f)
	for {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return end, f.Truncate(end)
		}
		end += int64(len(raw))
	}
}
