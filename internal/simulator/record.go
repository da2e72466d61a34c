package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/refundry/refundry/internal/fault"
)

const (
	recordName    = "simulator.jsonl"
	recordFormat  = "refundry-simulator"
	recordVersion = 1
	maxLine       = 64 << 10
)

// ErrCorrupt is wrapped by New when the record is damaged anywhere but in an unfinished last line.
var ErrCorrupt = errors.New("simulator record is corrupt")

var errClosed = errors.New("simulator is closed")

// record is the append-only file. Callers stage lines in order and then commit them. A caller that finds no flush running
// writes and fsyncs everything that is staged, so concurrent sends share one fsync.
type record struct {
	mu       sync.Mutex
	done     *sync.Cond
	file     *os.File
	staged   []byte
	seq      int64 // the last staged one
	durable  int64 // the last one that is on disk
	flushing bool
	err      error // once set, every commit fails
}

// openRecord locks and replays the record in dir, and creates both when missing. It calls replay with each entry in order.
// It cuts off an unfinished last line and returns its length.
func openRecord(dir string, replay func(entry) error) (*record, int64, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, 0, fmt.Errorf("simulator record: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, recordName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("simulator record: %w", err)
	}
	r := &record{file: file}
	r.done = sync.NewCond(&r.mu)
	torn, err := r.load(dir, replay)
	if err != nil {
		return nil, 0, errors.Join(err, release(file))
	}
	return r, torn, nil
}

func (r *record) load(dir string, replay func(entry) error) (int64, error) {
	// Two writers would interleave their lines. The lock ends with the process.
	if err := syscall.Flock(int(r.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return 0, fmt.Errorf("simulator record in %s is in use: %w", dir, err)
	}
	good, torn, err := r.replay(replay)
	if err != nil {
		return 0, err
	}
	if torn > 0 {
		if err := r.file.Truncate(good); err != nil {
			return 0, fmt.Errorf("simulator record: cut off an unfinished line: %w", err)
		}
	}
	if _, err := r.file.Seek(good, io.SeekStart); err != nil {
		return 0, fmt.Errorf("simulator record: %w", err)
	}
	r.durable = r.seq
	// Lines that a crashed process wrote but did not sync count from now on.
	if err := r.file.Sync(); err != nil {
		return 0, fmt.Errorf("simulator record: %w", err)
	}
	return torn, syncDir(dir)
}

// replay reads whole lines. good is the offset after the last one, torn the number of bytes after it. Only a line without
// its newline is torn, since every write ends with the newline.
func (r *record) replay(apply func(entry) error) (good, torn int64, err error) {
	in := bufio.NewReaderSize(r.file, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return good, int64(len(line)), nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%w: line %d: %w", ErrCorrupt, r.seq+1, err)
		}
		e, err := decodeLine(line[:len(line)-1])
		if err == nil && e.Seq != r.seq+1 {
			err = fmt.Errorf("the line has number %d, want %d", e.Seq, r.seq+1)
		}
		if err == nil {
			err = apply(e)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%w: line %d: %w", ErrCorrupt, r.seq+1, err)
		}
		r.seq, good = e.Seq, good+int64(len(line))
	}
}

// stage queues an entry for the next flush and returns its number.
func (r *record) stage(e entry) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	e.Seq = r.seq + 1
	line, err := encodeLine(e)
	if err != nil {
		return 0, err
	}
	r.staged = append(r.staged, line...)
	r.seq = e.Seq
	return e.Seq, nil
}

// commit returns when the entry is on disk. After a failed write or fsync the state of the file is unknown, so every later
// commit fails too.
func (r *record) commit(seq int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.durable < seq {
		switch {
		case r.err != nil:
			return r.err
		case r.flushing:
			r.done.Wait()
		default:
			r.flush()
		}
	}
	return nil
}

// flush writes the staged lines. The caller holds mu, which is released meanwhile.
func (r *record) flush() {
	r.flushing = true
	lines, upTo := r.staged, r.seq
	r.staged = nil
	r.mu.Unlock()
	fault.Point(fault.RecordBefore)
	_, err := r.file.Write(lines)
	fault.Point(fault.RecordWritten)
	if err == nil {
		err = r.file.Sync()
	}
	fault.Point(fault.RecordSynced)
	r.mu.Lock()
	r.flushing = false
	if err != nil {
		r.err = fmt.Errorf("simulator record: %w", err)
	} else {
		r.durable = upTo
	}
	r.done.Broadcast()
}

func (r *record) durableSeq() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.durable
}

// close flushes the staged lines and closes the file. A second call does nothing.
func (r *record) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.flushing {
		r.done.Wait()
	}
	if errors.Is(r.err, errClosed) {
		return nil
	}
	if r.err == nil && r.durable < r.seq {
		r.flush()
	}
	failed := r.err
	r.err = errClosed
	r.done.Broadcast()
	return errors.Join(failed, release(r.file))
}

// release unlocks and closes the file. Closing alone is not enough: a process that is being forked at this moment has a
// copy of the descriptor, and with it the lock, until it runs its program.
func release(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("simulator record: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
