package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/refundry/refundry/internal/refund/wire"
)

// problemOfParameters is the problem of a request that the validator refuses. If package wire reads the body, its faults are
// added, so that the problem lists all faults of the request.
func problemOfParameters(r *http.Request, err error, now time.Time) *Problem {
	found := faultsOfValidation(err)
	op, _ := r.Context().Value(keyOperation).(*operation)
	body, raw := r.Body.(rawBody)
	var refused *wire.Error
	if raw && op != nil && errors.As(op.bodyFaults([]byte(body.text), now), &refused) {
		if refused.Malformed {
			return problemOfBody(refused)
		}
		found = append(found, faultsOfBody(refused)...)
	}
	return problemWith(found)
}

// problemOfBody is the problem of a body that package wire refuses.
func problemOfBody(refused *wire.Error) *Problem {
	p := problemWith(faultsOfBody(refused))
	if refused.Malformed {
		p.Code = codeMalformedJSON
	}
	return p
}

func faultsOfBody(refused *wire.Error) []fieldError {
	out := make([]fieldError, len(refused.Faults))
	for i, f := range refused.Faults {
		out[i] = atPointer(f.Pointer, f.Detail)
	}
	return out
}

// problemWith is invalid-request with these faults.
func problemWith(found []fieldError) *Problem {
	if len(found) == 0 {
		return &Problem{Code: codeInvalidRequest}
	}
	detail := sentence(found[0])
	if len(found) > 1 {
		detail += fmt.Sprintf(" %d more in errors.", min(len(found), maxFieldErrors)-1)
	}
	return &Problem{Code: codeInvalidRequest, Detail: detail, Errors: found}
}
