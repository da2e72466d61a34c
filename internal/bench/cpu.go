package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpu is the processor time used so far, by PostgreSQL and by this process with its ended children (pgbench).
type cpu struct{ postgres, client time.Duration }

// ticks per second of the times in /proc; Linux uses 100 on every platform of Go (proc(5), sysconf(_SC_CLK_TCK)).
const ticks = 100

// readCPU reads the times of a server on this machine, on Linux. Elsewhere, and for a server of another user, they are 0.
func (b *run) readCPU(ctx context.Context) (c cpu) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			c.client += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	file, err := b.psql(ctx, `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`)
	if err != nil {
		return c
	}
	postmaster, err := strconv.Atoi(file)
	if err != nil {
		return c
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return c
	}
	for _, name := range stats {
		pid, parent, own, reaped, err := readStat(name)
		switch {
		case err != nil: // it ended meanwhile
		case pid == postmaster:
			c.postgres += own + reaped
		case parent == postmaster:
			c.postgres += own
		}
	}
	return c
}

// readStat reads the fields of proc(5): ppid is the 4th, utime, stime, cutime and cstime are the 14th to 17th.
func readStat(name string) (pid, parent int, own, reaped time.Duration, err error) {
	text, err := os.ReadFile(name) // #nosec G304 -- below /proc
	if err != nil {
		return 0, 0, 0, 0, err
	}
	end := bytes.LastIndexByte(text, ')') // the name can contain anything
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 15 {
		return 0, 0, 0, 0, fmt.Errorf("bench: %s cannot be read", name)
	}
	var utime, stime, cutime, cstime int64
	if _, err = fmt.Sscan(string(text), &pid); err != nil {
		return 0, 0, 0, 0, err
	}
	if _, err = fmt.Sscan(fields[1]+" "+strings.Join(fields[11:15], " "), &parent, &utime, &stime, &cutime, &cstime); err != nil {
		return 0, 0, 0, 0, err
	}
	tick := time.Second / ticks
	return pid, parent, time.Duration(utime+stime) * tick, time.Duration(cutime+cstime) * tick, nil
}

// perRefund returns the time per refund since before, in milliseconds.
func (c cpu) perRefund(before cpu, n int) CPU {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(max(n, 1)) }
	out := CPU{Client: ms(c.client - before.client)}
	if c.postgres > 0 {
		out.Postgres = ms(c.postgres - before.postgres)
	}
	return out
}
