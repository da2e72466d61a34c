package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// entry is one line of the record: the first line opens it, every other line is one send.
type entry struct {
	Seq int64     `json:"seq"` // 1, 2, 3, … without a gap
	At  time.Time `json:"at"`

	Format   string `json:"format,omitempty"` // first line only
	Version  int    `json:"version,omitempty"`
	Instance string `json:"instance,omitempty"` // random; part of every channel refund id

	Account  string `json:"account,omitempty"`
	Number   string `json:"number,omitempty"`
	RefundID string `json:"refundId,omitempty"`
	Fault    Fault  `json:"fault,omitempty"`  // the fault that decided the answer
	Code     string `json:"code,omitempty"`   // the code of the rule, if it has one
	Keeps    bool   `json:"keeps,omitempty"`  // the answer is kept under the key
	Asked    *asked `json:"asked,omitempty"`  // with Keeps and without a refund: the parameters of the key
	Refund   *made  `json:"refund,omitempty"` // set when this send made a refund
}

// asked are the parameters of a key.
type asked struct {
	PaymentReference string `json:"paymentReference"`
	Amount           int64  `json:"amount"`
	Currency         string `json:"currency"`
}

// made is a refund with everything that was fixed when it was recorded. Asked is the requested amount, Amount the one that
// moves.
type made struct {
	ID               string     `json:"channelRefundId"`
	PaymentReference string     `json:"paymentReference"`
	Asked            int64      `json:"asked"`
	Amount           int64      `json:"amount"`
	Currency         string     `json:"currency"`
	SettlesAt        time.Time  `json:"settlesAt"` // the money moves (or Fails) at this moment
	Fails            bool       `json:"fails,omitempty"`
	VisibleAt        *time.Time `json:"visibleAt,omitempty"` // hidden from queries and lists before
	ReturnsAt        *time.Time `json:"returnsAt,omitempty"` // the money comes back
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumLen is the length of ,"sum":"01234567"} at the end of a line.
const sumLen = len(`,"sum":"01234567"}`)

// encodeLine returns the entry as one JSON object whose last member is the CRC-32C of all bytes before it.
func encodeLine(e entry) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("simulator record: %w", err)
	}
	body = body[:len(body)-1]
	return fmt.Appendf(body, `,"sum":"%08x"}`+"\n", crc32.Checksum(body, castagnoli)), nil
}

func decodeLine(line []byte) (entry, error) {
	if len(line) <= sumLen {
		return entry{}, errors.New("the line is too short")
	}
	body, tail := line[:len(line)-sumLen], line[len(line)-sumLen:]
	if want := fmt.Sprintf(`,"sum":"%08x"}`, crc32.Checksum(body, castagnoli)); string(tail) != want {
		return entry{}, errors.New("the checksum does not match")
	}
	var e entry
	whole := append(bytes.Clone(body), '}')
	if err := json.Unmarshal(whole, &e); err != nil {
		return entry{}, err
	}
	return e, nil
}
