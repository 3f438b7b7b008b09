package fence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// What a handler accepts.
const (
	MaxBody    = 16 << 10         // bytes of a request
	MaxWait    = 60 * time.Second // that a grant may wait
	maxAtOnce  = 256              // requests in work, the waiting ones among them
	serverName = "faultlab-coordinator"
)

// NewHandler serves a grantor over HTTP with JSON, so that curl will do:
//
//	POST /v1/grant    {"name":"data","holder":"w1","ttl":"10s","wait":"5s"}
//	                  the lease, or 409 held; wait may be left out
//	POST /v1/renew    {"name":"data","token":"7@8f3c…","ttl":"10s"}
//	                  the lease, or 409 lost
//	POST /v1/release  {"name":"data","token":"7@8f3c…"}
//	                  {}, or 409 lost
//	POST /v1/advance  {"by":"1m"}
//	                  {"now":"1m0s"}, or 409 backwards, or 400 on a real clock
//	GET  /v1/leases   {"grantor":"8f3c…","now":"1m0s","leases":[…]}
//
// A lease is {"name","holder","token","ttl","expires","left"}; durations are
// strings as Go writes them. An error is {"error":"one line","code":…}, code
// being invalid, held, lost, foreign, backwards, busy or failed; with held and
// lost comes the lease that runs, if one does.
func NewHandler(g *Grantor) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/grant", post(func(ctx context.Context, r grantRequest) (any, error) {
		if r.Wait < 0 || time.Duration(r.Wait) > MaxWait {
			return nil, &InvalidError{"wait", time.Duration(r.Wait).String(), fmt.Sprintf("a duration from 0s to %v", MaxWait)}
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Wait))
		defer cancel()
		return g.GrantWait(ctx, r.Name, r.Holder, time.Duration(r.TTL))
	}))
	mux.HandleFunc("POST /v1/renew", post(func(_ context.Context, r tokenRequest) (any, error) {
		return g.Renew(r.Name, r.Token, time.Duration(r.TTL))
	}))
	mux.HandleFunc("POST /v1/release", post(func(_ context.Context, r tokenRequest) (any, error) {
		return struct{}{}, g.Release(r.Name, r.Token)
	}))
	mux.HandleFunc("POST /v1/advance", post(func(_ context.Context, r advanceRequest) (any, error) {
		now, err := g.Advance(time.Duration(r.By))
		return advanceReply{duration(now)}, err
	}))
	mux.HandleFunc("GET /v1/leases", func(w http.ResponseWriter, _ *http.Request) {
		running, now, err := g.List()
		reply(w, leasesReply{g.ID(), duration(now), running}, err)
	})
	return limited(mux)
}

type grantRequest struct {
	Name   string   `json:"name"`
	Holder string   `json:"holder"`
	TTL    duration `json:"ttl"`
	Wait   duration `json:"wait,omitempty"`
}

// tokenRequest is for renew and release, which has no use for TTL.
type tokenRequest struct {
	Name  string   `json:"name"`
	Token Token    `json:"token"`
	TTL   duration `json:"ttl,omitempty"`
}

type advanceRequest struct {
	By duration `json:"by"`
}

type advanceReply struct {
	Now duration `json:"now"`
}

type leasesReply struct {
	Grantor string   `json:"grantor"`
	Now     duration `json:"now"`
	Leases  []Lease  `json:"leases"`
}

type errorReply struct {
	Error string `json:"error"`
	Code  string `json:"code"`
	Lease *Lease `json:"lease,omitempty"`
}

// post reads the request's body as exactly one JSON object of type R.
func post[R any](do func(context.Context, R) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req R
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody))
		d.DisallowUnknownFields()
		err := d.Decode(&req)
		if err == nil && d.Decode(&struct{}{}) != io.EOF {
			err = errors.New("more than one JSON object")
		}
		if err != nil {
			var inv *InvalidError
			if !errors.As(err, &inv) {
				inv = &InvalidError{"request body", oneLine(err.Error()), "one JSON object with the fields of " + r.URL.Path + ", in at most 16 KiB"}
			}
			reply(w, nil, inv)
			return
		}
		v, err := do(r.Context(), req)
		reply(w, v, err)
	}
}

// reply sends v, or the error with its code and, for curl, a fitting status.
func reply(w http.ResponseWriter, v any, err error) {
	status := http.StatusOK
	if err != nil {
		v, status = describeError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Server", serverName)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that has gone is told nothing
}

func describeError(err error) (errorReply, int) {
	r := errorReply{Error: oneLine(err.Error()), Code: "failed"}
	var (
		invalid   *InvalidError
		held      *HeldError
		lost      *LostError
		foreign   *ForeignError
		backwards *BackwardsError
	)
	switch {
	case errors.As(err, &invalid):
		r.Code = "invalid"
		return r, http.StatusBadRequest
	case errors.As(err, &held):
		r.Code, r.Lease = "held", &held.Lease
	case errors.As(err, &lost):
		r.Code, r.Lease = "lost", lost.Current
	case errors.As(err, &foreign):
		r.Code = "foreign"
	case errors.As(err, &backwards):
		r.Code = "backwards"
	default:
		return r, http.StatusInternalServerError
	}
	return r, http.StatusConflict
}

// limited answers "busy" rather than let requests pile up, and answers in JSON
// where the mux would answer in text.
func limited(mux *http.ServeMux) http.Handler {
	slots := make(chan struct{}, maxAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			sendError(w, http.StatusServiceUnavailable, "busy", fmt.Sprintf("%d requests are in work: try again later", maxAtOnce))
			return
		}
		if _, pattern := mux.Handler(r); pattern == "" {
			sendError(w, http.StatusNotFound, "invalid", fmt.Sprintf("%s %s: no such request: POST /v1/{grant,renew,release,advance} or GET /v1/leases",
				r.Method, show(strings.ToValidUTF8(r.URL.Path, "?"))))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func sendError(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(errorReply{Error: text, Code: code})
}
