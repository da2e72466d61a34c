package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/clock"
)

// lockAndBringUp attaches to the server or starts it, in one process at a time.
func (db *DB) lockAndBringUp(ctx context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	start, err := WaitLock(ctx, db.files.startLock, false)
	if err != nil {
		return err
	}
	if db.owner == nil {
		db.owner, err = TryLock(db.files.ownerLock, false)
		if errors.Is(err, ErrLocked) {
			err = nil // a running process owns it: this one is a guest
		}
	}
	if err == nil {
		err = db.bringUp(ctx)
	}
	if err == nil {
		err = ensureDatabase(ctx, connString(db.port, db.password, "postgres"))
	}
	if err != nil {
		err = errors.Join(err, db.owner.Release())
		db.owner = nil
	}
	return errors.Join(err, start.Release())
}

// bringUp attaches to the running server or starts one, and sets port and pid.
func (db *DB) bringUp(ctx context.Context) error {
	major, err := db.files.readMajor()
	if err != nil {
		return err
	}
	db.password, err = db.files.ensurePassword(db.acct, major != 0)
	if err != nil {
		return err
	}
	left, leftover := db.files.readPidFile()
	if leftover {
		reap(left.pid) // a killed child of this process is a zombie, which looks alive until it is reaped
		attached, err := db.attach(ctx, left)
		if err != nil || attached {
			return err
		}
	}
	in, err := chooseInstallation(ctx, db.cfg.BinDir, major)
	if err != nil {
		return err
	}
	if major == 0 {
		if err := db.initCluster(ctx, in); err != nil {
			return err
		}
	}
	return db.startServer(ctx, in, leftover)
}

// attach reports whether the server that wrote the pid file runs and is ours.
func (db *DB) attach(ctx context.Context, pf pidFile) (bool, error) {
	who, why := settle(ctx, pf.port, db.password, db.files.data)
	if who == notReady {
		return false, fmt.Errorf("the server on port %d does not become ready: %w", pf.port, why)
	}
	if who != ours {
		return false, nil
	}
	if db.cfg.Port != 0 && db.cfg.Port != pf.port {
		return false, fmt.Errorf("the server of %s already runs on port %d (pid %d), not on %d: stop it first, or give no port",
			db.cfg.Dir, pf.port, pf.pid, db.cfg.Port)
	}
	db.port, db.pid, db.started = pf.port, pf.pid, db.started && db.pid == pf.pid
	db.cfg.Logger.Info("PostgreSQL is already running", "dir", db.cfg.Dir, "port", db.port, "pid", db.pid, "owner", db.owner != nil)
	return true, nil
}

// initCluster creates the data directory in another folder and moves it when it is complete, so that a killed start leaves
// no incomplete data directory. The remains of such a start (initdb-…) stay, since no data is ever deleted.
func (db *DB) initCluster(ctx context.Context, in installation) error {
	tmp, err := os.MkdirTemp(db.files.home, "initdb-") // created with mode 0700
	if err != nil {
		return err
	}
	if err := db.acct.own(tmp); err != nil {
		return err
	}
	args := []string{"-D", tmp, "-U", Role, "--pwfile", db.files.password, "--auth=scram-sha-256",
		"-E", "UTF8", "--locale=C", "--data-checksums"}
	if db.cfg.Settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(in.bin, "initdb"), args...)
	cmd.Dir = db.files.home
	cmd.Env = serverEnv()
	cmd.SysProcAttr = db.acct.sysProcAttr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb (as user %s) failed: %w\n%s", db.acct.name, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(tmp, db.files.data); err != nil {
		return err
	}
	return syncDir(db.files.home)
}

// startServer starts the server on the chosen port. It tries again when another program takes the port first, if the port
// can be changed, and directly after a crash, when processes of the last server may still run.
func (db *DB) startServer(ctx context.Context, in installation, afterCrash bool) error {
	if afterCrash {
		db.cfg.Logger.Info("the last PostgreSQL was not stopped properly; starting with recovery", "dir", db.cfg.Dir)
	}
	for try := 1; ; try++ {
		port, err := db.choosePort(ctx)
		if err != nil {
			return err
		}
		if err := writeWhole(db.files.port, strconv.Itoa(port)+"\n", db.acct); err != nil {
			return err
		}
		begin := time.Now()
		pid, err := db.launch(ctx, in, port)
		if err == nil {
			db.port, db.pid, db.started = port, pid, true
			db.cfg.Logger.Info("PostgreSQL started", "dir", db.cfg.Dir, "version", in.major, "port", port, "pid", pid,
				"took", time.Since(begin).Round(time.Millisecond))
			return nil
		}
		lostPort := db.cfg.Port == 0 && !portFree(port)
		if ctx.Err() != nil || try >= 25 || !afterCrash && !lostPort {
			return err
		}
		if clock.Pause(ctx, 200*time.Millisecond) != nil {
			return err
		}
	}
}

// choosePort returns the wanted port if it is free. A remembered port is replaced by another one, an explicit one is not.
func (db *DB) choosePort(ctx context.Context) (int, error) {
	port := db.cfg.Port
	if port == 0 && db.port != 0 {
		port = db.port // a restart: clients use this one
	}
	fixed := port != 0
	if port == 0 {
		port = db.files.readPort()
	}
	if port == 0 {
		return pickPort(db.cfg.Dir, 0)
	}
	if portFree(port) {
		return port, nil
	}
	who, why := settle(ctx, port, db.password, db.files.data)
	if who == nobody {
		return port, nil // it was freed meanwhile
	}
	if fixed {
		return 0, fmt.Errorf("port %d on 127.0.0.1: %w: %s answers there (%w); stop it or choose another port",
			port, ErrPortTaken, who, why)
	}
	other, err := pickPort(db.cfg.Dir, port)
	if err == nil {
		db.cfg.Logger.Warn("the port of the last run is taken; using another one", "taken", port, "by", who.String(), "port", other)
	}
	return other, err
}

// ensureDatabase creates the database if it does not exist.
func ensureDatabase(ctx context.Context, adminURL string) (err error) {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var there bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", Database).Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+Database)
	return err
}

// Kill ends the server like a power cut: SIGKILL to its main process, whose children then end. It returns when that process
// has ended. For tests; a guest gets an error.
func (db *DB) Kill() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.owner == nil && !db.started {
		return errors.New("devdb: kill: the server belongs to another process")
	}
	if err := syscall.Kill(db.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("devdb: kill %d: %w", db.pid, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for alive(db.pid) {
		if err := clock.Pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("devdb: process %d has not ended after SIGKILL: %w", db.pid, err)
		}
	}
	return nil
}
