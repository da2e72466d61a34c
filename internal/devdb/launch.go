package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"time"

	"github.com/refundry/refundry/internal/clock"
)

// launch starts the server and waits until it answers. It leaves no goroutine and no pipe, since the server can outlive
// this process.
func (db *DB) launch(ctx context.Context, in installation, port int) (int, error) {
	log, offset, err := openLog(db.files.log)
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(in.bin, "postgres"), serverArgs(db.files.data, port, db.cfg.Settings)...) //nolint:noctx // the server outlives ctx
	cmd.Dir = db.files.home
	cmd.Env = serverEnv()
	cmd.SysProcAttr = db.acct.sysProcAttr()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Start()
	if closeErr := log.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Process.Release(); err != nil {
		return 0, err
	}
	for {
		who, why := identify(ctx, port, db.password, db.files.data)
		if pf, ok := db.files.readPidFile(); who == ours && ok && pf.pid == pid {
			return pid, nil
		}
		if reap(pid) {
			return 0, fmt.Errorf("PostgreSQL ended while starting; its log says:\n%s", db.files.logTail(offset))
		}
		if err := clock.Pause(ctx, 20*time.Millisecond); err != nil {
			stopErr := stopServer(ctx, db.files, pid)
			return 0, fmt.Errorf("PostgreSQL did not answer in time (last: %s); its log says:\n%s\n%w",
				who, db.files.logTail(offset), errors.Join(err, why, stopErr))
		}
	}
}

func serverArgs(data string, port int, settings map[string]string) []string {
	args := []string{"-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", // no socket: its path may be too long, and TCP requires the password
		"-c", "password_encryption=scram-sha-256",
		"-c", "log_line_prefix=%m [%p] %d ",
	}
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// openLog opens the log for appending and returns its length. It starts a new log at 10 MB and keeps the last one.
func openLog(path string) (*os.File, int64, error) {
	if st, err := os.Stat(path); err == nil && st.Size() > 10<<20 {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}
