package faultlab_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is the fenced store as it should be: a value and the token under
// which it was written. The zero register was never written.
type register struct {
	mark  uint64
	value string
}

// request is what a client wants of it: to put, or, without a token, to read.
type request struct {
	token uint64
	value string
}

// answer is what came of it.
type answer struct {
	end  ending
	seen register // of a read; of a stale put the mark alone
}

type ending int

const (
	done  ending = iota // the put is in the store; the read saw what it says
	stale               // refused
	maybe               // the client died, or the disk failed: nobody knows
)

func (e ending) String() string { return [...]string{"done", "stale", "maybe"}[e] }

// fenced says which states a register may be in after an operation. That a put
// may or may not have taken place makes it more than one.
func fenced(r register, q request, a answer) (after []any) {
	written := register{q.token, q.value}
	switch {
	case q.token == 0:
		if a.seen == r {
			after = append(after, r)
		}
	case a.end == stale:
		if q.token < r.mark && a.seen.mark == r.mark {
			after = append(after, r)
		}
	default:
		if a.end == maybe {
			after = append(after, r)
		}
		if q.token >= r.mark {
			after = append(after, written)
		}
	}
	return after
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{}} },
	Step: func(state, in, out any) []any { return fenced(state.(register), in.(request), out.(answer)) },
	DescribeOperation: func(in, out any) string {
		q, a := in.(request), out.(answer)
		if q.token == 0 {
			return fmt.Sprintf("read: %s under %d", a.seen.value, a.seen.mark)
		}
		return fmt.Sprintf("put %s under %d: %v", q.value, q.token, a.end)
	},
	DescribeState: func(state any) string { return fmt.Sprint(state) },
}).ToModel()

// history is what all clients saw, each operation between two times that it
// cannot have been outside of.
type history struct {
	mu    sync.Mutex
	begun time.Time
	ops   []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.begun)) }

func (h *history) add(client int, from int64, q request, a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: q, Call: from, Output: a, Return: h.now()})
}

// check asks whether there is an order of the operations in which a fenced
// register gives all these answers.
func (h *history) check() (porcupine.CheckResult, porcupine.LinearizationInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return porcupine.CheckOperationsVerbose(model, h.ops, time.Minute)
}
