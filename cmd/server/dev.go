package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devnats"
	"github.com/refundry/refundry/internal/simulator"
	"github.com/refundry/refundry/internal/store/migrate"
)

const demoTenant = "demo"

type devFlags struct {
	common
	listen, simulator, nats, dir, faults string
	anyNATS                              bool // --nats was not given: any port will do
	caseAfter                            time.Duration
	guard                                guardConfig
}

func devCommand() *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: PostgreSQL, NATS, simulated channel, demo tenant, API",
		Long: `Starts a PostgreSQL of its own from the installed programs and migrates it, starts a NATS server with JetStream and the
channel simulator, creates a demo tenant with two actors and their keys, accepts events from NATS, and serves the API. All data is
kept in --data for the next run. Ctrl-C drains the service and stops everything that dev has started.`,
		Example: `  refundry dev
  refundry dev --faults lost-after=0.2,lost-before=0.1,seed=7
  refundry dev --listen 127.0.0.1:0 --simulator 127.0.0.1:0 --nats 127.0.0.1:0 --data ./data --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.anyNATS = !cmd.Flags().Changed("nats")
			return runDev(cmd, f)
		},
	}
	f.bindLog(cmd)
	f.guard.bind(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8080", "host:port on which the API listens; port 0 = any free port")
	cmd.Flags().StringVar(&f.simulator, "simulator", "127.0.0.1:0", "host:port of the channel simulator; port 0 = any free port")
	cmd.Flags().StringVar(&f.nats, "nats", "127.0.0.1:4222",
		"host:port of the NATS server, on loopback; port 0 = any free port, also used when the default port is taken")
	cmd.Flags().StringVar(&f.dir, "data", "",
		"folder for all data (default ./.refundry, or /var/lib/refundry where PostgreSQL's user has no access to it)")
	cmd.Flags().StringVar(&f.faults, "faults", "", "how the channel misbehaves: shares of requests and a seed, for example lost-after=0.2,seed=7")
	cmd.Flags().DurationVar(&f.caseAfter, "open-case-after", 0,
		"how long a refund may stay open before a case is opened for it (default: the time in its contract)")
	return withFault(cmd)
}

func runDev(cmd *cobra.Command, f devFlags) (err error) {
	if os.Getenv(config.EnvName("database-url")) != "" {
		return fmt.Errorf("dev runs a PostgreSQL of its own; unset %s, or use serve", config.EnvName("database-url"))
	}
	if _, err := simulator.ParseSpec(f.faults); err != nil { // before starting anything
		return fmt.Errorf("--faults: %w", err)
	}
	log, err := f.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := f.portsFree(cmd.Context()); err != nil {
		return err
	}
	if f.dir == "" {
		f.dir = devdb.DefaultDir()
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "refundry: starting PostgreSQL, NATS and the simulator, data in", f.dir)
	ctx := cmd.Context()
	stack := &devStack{}
	defer func() { err = errors.Join(err, stack.stop()) }()
	a, demo, err := stack.build(ctx, f, log)
	if err != nil {
		return err
	}
	return a.run(ctx, func() {
		ready := demo.with(a, stack)
		if err := stack.sim.sim.SetNotices(noticesOf(ready.API)); err != nil {
			log.Error("the simulator sends no notices", "error", err.Error())
		}
		printReady(cmd, f, ready)
	})
}

// portsFree returns an error when the API or the simulator cannot listen, before anything is started.
func (f devFlags) portsFree(ctx context.Context) error {
	for flag, addr := range map[string]string{"listen": f.listen, "simulator": f.simulator} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("--%s: %w; another refundry dev may be running, or choose another address (port 0 = any)", flag, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// devStack has the services that dev starts before the API and stops after it.
type devStack struct {
	db   *devdb.DB
	nats *devnats.Server
	sim  *runningSimulator
}

func (s *devStack) build(ctx context.Context, f devFlags, log *slog.Logger) (*app, demoSite, error) {
	var demo demoSite
	db, err := devdb.Start(ctx, devdb.Config{Dir: f.dir, Logger: log})
	if err != nil {
		return nil, demo, err
	}
	s.db = db
	if s.nats, err = devnats.Start(devnats.Config{Dir: f.dir, Listen: f.nats, AnyPort: f.anyNATS, Logger: log}); err != nil {
		return nil, demo, err
	}
	if _, err := migrate.Up(ctx, migrate.Config{URL: db.URL(), Logger: log}); err != nil {
		return nil, demo, err
	}
	secretFile, secret, err := demoNoticeSecret(f.dir)
	if err != nil {
		return nil, demo, err
	}
	s.sim, err = startSimulatorWith(ctx, f.simulator, simulator.Config{Dir: filepath.Join(f.dir, "simulator"), Faults: f.faults,
		NoticeSecret: secret, Logger: log})
	if err != nil {
		return nil, demo, err
	}
	if demo, err = prepareDemo(ctx, db.URL(), f.dir); err != nil {
		return nil, demo, err
	}
	file, err := demoConfig(s.sim.url(), s.nats.URL(), secretFile, f.caseAfter)
	if err != nil {
		return nil, demo, err
	}
	a, err := newApp(ctx, appConfig{databaseURL: db.URL(), schema: "refundry", listen: f.listen, file: file,
		api: true, worker: true, bridge: true, workers: 32, guard: f.guard, log: log})
	return a, demo, err
}

func (s *devStack) stop() error {
	var errs []error
	if s.sim != nil {
		errs = append(errs, s.sim.stop())
	}
	if s.nats != nil {
		s.nats.Stop()
	}
	if s.db != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		errs = append(errs, s.db.Stop(ctx))
	}
	return errors.Join(errs...)
}

// The bridge, stream and subjects of dev.
const (
	demoBridge   = "nats"
	demoStream   = "REFUNDRY"
	demoSubjects = "refundry.in.>"
	demoSubject  = "refundry.in." + demoTenant + ".refund.requested"
)

// demoConfig returns a configuration with one bridge and one account per profile: demo for the first, demo-<profile> for the others.
func demoConfig(endpoint, broker, noticeSecretFile string, caseAfter time.Duration) (config.File, error) {
	account, err := config.RawSettingsOf(plain.Settings{Endpoint: endpoint, NoticeSecrets: []config.Secret{{File: noticeSecretFile}}})
	if err != nil {
		return config.File{}, err
	}
	accounts := map[string]config.Account{}
	for i, profile := range plain.Kind.Profiles() {
		name := demoTenant
		if i > 0 {
			name += "-" + profile
		}
		accounts[name] = config.Account{Channel: plain.Kind.Name, Settings: account, Tenants: []string{demoTenant},
			Contract: config.Contract{Profile: profile, Waits: config.Waits{Pending: caseAfter, Unknown: caseAfter, Accepted: caseAfter}}}
	}
	subscription, err := config.RawSettingsOf(nats.Settings{URL: broker, Stream: demoStream, CreateStream: true, Subjects: []string{demoSubjects}})
	if err != nil {
		return config.File{}, err
	}
	bridges := map[string]config.Bridge{demoBridge: {Broker: nats.Kind.Name, Settings: subscription, Tenants: []string{demoTenant}}}
	return config.File{Accounts: accounts, Bridges: bridges}, nil
}
