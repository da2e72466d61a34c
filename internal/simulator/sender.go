package simulator

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// delivery is one notice that is not acknowledged yet.
type delivery struct {
	account string
	body    []byte
	due     time.Time // by the simulator's clock
	next    time.Time // by the real clock: not before
	tries   int
	forged  bool
}

// noticeSender sends notices in the background after SetNotices has set a target.
type noticeSender struct {
	mu      sync.Mutex
	target  string
	waiting []delivery
	slots   chan struct{}
	run     context.Context // until the simulator is closed
	end     context.CancelFunc
	wg      sync.WaitGroup
	client  *http.Client
}

// deliver sends the due notices until the simulator is closed.
func (s *Simulator) deliver() {
	tick := time.NewTicker(noticeTick)
	defer tick.Stop()
	for {
		select {
		case <-s.sender.run.Done():
			return
		case <-tick.C:
		}
		for _, d := range s.sender.take(s.now(), time.Now()) {
			select {
			case s.sender.slots <- struct{}{}:
			case <-s.sender.run.Done():
				return
			}
			s.sender.wg.Go(func() {
				defer func() { <-s.sender.slots }()
				s.try(d)
			})
		}
	}
}

// take removes and returns the due notices.
func (c *noticeSender) take(now, wall time.Time) []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	var due, rest []delivery
	for _, d := range c.waiting {
		if d.due.After(now) || d.next.After(wall) {
			rest = append(rest, d)
		} else {
			due = append(due, d)
		}
	}
	c.waiting = rest
	return due
}

// try sends a notice once. A notice without a 2xx is repeated, up to 40 times; a forged one is not.
func (s *Simulator) try(d delivery) {
	status, err := s.post(d)
	if err == nil && status >= 200 && status <= 299 || d.forged {
		return
	}
	if d.tries++; d.tries >= noticeTries {
		s.cfg.Logger.Warn("the notice was not acknowledged and is given up", "account", d.account, "status", status)
		return
	}
	d.next = time.Now().Add(min(firstPause<<min(d.tries, 10), longestPause))
	c := &s.sender
	c.mu.Lock()
	c.waiting = append(c.waiting, d)
	c.mu.Unlock()
}

func (s *Simulator) post(d delivery) (int, error) {
	s.sender.mu.Lock()
	target := strings.ReplaceAll(s.sender.target, "{account}", url.PathEscape(d.account))
	s.sender.mu.Unlock()
	acct, _ := s.account(d.account)
	secret := acct.NoticeSecret
	if d.forged {
		secret = "guessed-" + secret[:len(secret)/2]
	}
	req, err := http.NewRequestWithContext(s.sender.run, http.MethodPost, target, bytes.NewReader(d.body))
	if err != nil {
		return 0, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(headerTimestamp, stamp)
	req.Header.Set(headerSignature, "v1="+sign(secret, stamp, d.body))
	resp, err := s.sender.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode, err
}

func sign(secret, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// stop ends the sending. Notices that wait are sent again after the next start.
func (c *noticeSender) stop() {
	c.mu.Lock()
	started := c.client != nil
	c.mu.Unlock()
	if !started {
		return
	}
	c.end()
	c.wg.Wait()
}
