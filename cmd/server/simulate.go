package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/simulator"
)

func simulateCommand() *cobra.Command {
	var c common
	var listen, dir, faults, notices, secretFile string
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run the channel simulator alone",
		Long: `Simulates a payment channel that keeps a durable record of every refund it made and misbehaves on demand. The account demo
has the profile keyed-queryable; demo-list-and-match, demo-key-replay-only, demo-key-after-2xx, demo-notice-only and demo-blind
have the profile of their name. With --notices it posts the results to the service, signed with the secret in
--notice-secret-file.`,
		Example: `  refundry simulate --data ./sim --faults lost-after=0.2,seed=7
  curl -s http://127.0.0.1:8089/effects`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := c.logger(os.Stderr)
			if err != nil {
				return err
			}
			cfg := simulator.Config{Dir: dir, Faults: faults, Logger: log}
			if notices != "" {
				if cfg.NoticeSecret, err = (&config.Secret{File: secretFile}).Read(); err != nil {
					return err
				}
			}
			s, err := startSimulatorWith(cmd.Context(), listen, cfg)
			if err != nil {
				return err
			}
			if notices != "" {
				if err := s.sim.SetNotices(notices); err != nil {
					return errors.Join(err, s.stop())
				}
			}
			if c.json {
				err = printJSON(cmd, map[string]string{"simulator": s.url()})
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "simulator on %s, record in %s\n", s.url(), dir)
			}
			if err == nil {
				<-cmd.Context().Done()
			}
			return s.stop()
		},
	}
	c.bindLog(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8089", "host:port on which the simulator listens; port 0 = any free port")
	cmd.Flags().StringVar(&dir, "data", "./.refundry-simulator", "folder of the durable record")
	cmd.Flags().StringVar(&faults, "faults", "",
		"how the channel misbehaves: shares of requests and a seed, for example lost-after=0.2,lost-before=0.1,seed=7")
	cmd.Flags().StringVar(&notices, "notices", "", "URL to which notices are posted, with {account} for the account (default: no notices)")
	cmd.Flags().StringVar(&secretFile, "notice-secret-file", "", "file with the secret that signs the notices; required with --notices")
	return cmd
}

// runningSimulator is a simulator that serves HTTP.
type runningSimulator struct {
	sim    *simulator.Simulator
	server *http.Server
	addr   net.Addr
}

// startSimulator starts a simulator without notices.
func startSimulator(ctx context.Context, listen, dir, faults string, log *slog.Logger) (*runningSimulator, error) {
	return startSimulatorWith(ctx, listen, simulator.Config{Dir: dir, Faults: faults, Logger: log})
}

func startSimulatorWith(ctx context.Context, listen string, cfg simulator.Config) (*runningSimulator, error) {
	sim, err := simulator.New(cfg)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		_ = sim.Close()
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := &runningSimulator{sim: sim, addr: l.Addr(), server: &http.Server{Handler: sim.Handler(), ReadHeaderTimeout: 5 * time.Second}}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *runningSimulator) url() string { return "http://" + s.addr.String() }

func (s *runningSimulator) stop() error {
	_ = s.server.Close()
	return s.sim.Close()
}
