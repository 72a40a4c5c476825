package blobbackend

// How long the store may be silent. A deadline for a whole transfer would have to know its size and the line; a bound on
// each wait needs neither, and finds a dead peer as soon.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// wait is the time limit of one transfer. Its context ends when one wait has lasted too long.
type wait struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

// newWait begins a wait. The caller must call end.
func newWait(ctx context.Context, limit time.Duration) *wait {
	w := &wait{limit: limit}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	silent := fmt.Errorf("%w: no answer for %v", os.ErrDeadlineExceeded, limit)
	w.timer = time.AfterFunc(limit, func() { w.cancel(silent) })
	return w
}

func (w *wait) start() { w.timer.Reset(w.limit) }
func (w *wait) stop()  { w.timer.Stop() }

func (w *wait) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain adds why the context has ended, which an SDK's "context canceled" does not say. It must come before end.
func (w *wait) explain(err error) error {
	cause := context.Cause(w.ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// ask makes one small request. It looks at the context itself, because not every driver does.
func (b *Backend) ask(ctx context.Context, request func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := newWait(ctx, b.cfg.Timeout)
	defer w.end()
	return b.storeError(w.explain(request(w.ctx)))
}
