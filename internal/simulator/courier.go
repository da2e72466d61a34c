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

// delivery is one notice on its way.
type delivery struct {
	account string
	body    []byte
	due     time.Time // by the simulator's clock
	next    time.Time // by the real one: not before
	tries   int
	forged  bool
}

// courier sends notices in the background, once a target is set.
type courier struct {
	mu      sync.Mutex
	target  string
	waiting []delivery
	slots   chan struct{}
	run     context.Context // until the simulator is closed
	end     context.CancelFunc
	wg      sync.WaitGroup
	client  *http.Client
}

// deliver sends what is due until the simulator is closed.
func (s *Simulator) deliver() {
	tick := time.NewTicker(noticeTick)
	defer tick.Stop()
	for {
		select {
		case <-s.courier.run.Done():
			return
		case <-tick.C:
		}
		for _, d := range s.courier.take(s.now(), time.Now()) {
			select {
			case s.courier.slots <- struct{}{}:
			case <-s.courier.run.Done():
				return
			}
			s.courier.wg.Go(func() {
				defer func() { <-s.courier.slots }()
				s.try(d)
			})
		}
	}
}

// take removes and returns what is due.
func (c *courier) take(now, wall time.Time) []delivery {
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

// try sends a notice once. What is not acknowledged with a 2xx comes again, up to
// 40 times; a forger tries once.
func (s *Simulator) try(d delivery) {
	status, err := s.post(d)
	if err == nil && status >= 200 && status <= 299 || d.forged {
		return
	}
	if d.tries++; d.tries >= noticeTries {
		s.cfg.Logger.Warn("notice given up", "account", d.account, "status", status)
		return
	}
	d.next = time.Now().Add(min(firstPause<<min(d.tries, 10), longestPause))
	c := &s.courier
	c.mu.Lock()
	c.waiting = append(c.waiting, d)
	c.mu.Unlock()
}

func (s *Simulator) post(d delivery) (int, error) {
	s.courier.mu.Lock()
	target := strings.ReplaceAll(s.courier.target, "{account}", url.PathEscape(d.account))
	s.courier.mu.Unlock()
	acct, _ := s.account(d.account)
	secret := acct.NoticeSecret
	if d.forged {
		secret = "guessed-" + secret[:len(secret)/2]
	}
	req, err := http.NewRequestWithContext(s.courier.run, http.MethodPost, target, bytes.NewReader(d.body))
	if err != nil {
		return 0, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(headerTimestamp, stamp)
	req.Header.Set(headerSignature, "v1="+sign(secret, stamp, d.body))
	resp, err := s.courier.client.Do(req)
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

// stop ends the sending; what waits is lost until the next start tells it again.
func (c *courier) stop() {
	c.mu.Lock()
	started := c.client != nil
	c.mu.Unlock()
	if !started {
		return
	}
	c.end()
	c.wg.Wait()
}
