package toolresult

// A stream can be larger than memory. Where the backend takes a result while it is still arriving, only so much is held back
// as is needed to know that the result is too large and that a notice will be smaller; from then on it goes straight through.
// That asks for a failure policy that needs no text to fall back on, no Transform, and a counter that adds up over pieces.

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/cloudwego/eino/compose"
)

// textMeter counts the tokens of a text that comes in pieces.
type textMeter interface {
	io.StringWriter
	Tokens() int
	Exceeds(limit int) bool
}

// arrival is the text of a stream.
type arrival struct {
	o     *offloader
	ctx   context.Context
	input *compose.ToolInput

	meter textMeter // nil: the text must be held whole
	limit int
	held  []string
	bytes int
	spill *spill // nil as long as the text is within its limit
	begun bool   // the text is on its way into the backend, or failed to get there
}

func (o *offloader) newArrival(ctx context.Context, input *compose.ToolInput) *arrival {
	a := &arrival{o: o, ctx: ctx, input: input, limit: o.limit(input.Name)}
	if o.store.creator != nil && o.cfg.OnFailure == FailCall && o.cfg.Transform == nil {
		a.meter = o.size.newMeter()
	}
	return a
}

// add takes in a piece of the text.
func (a *arrival) add(text string) error {
	if a.meter == nil {
		return nil
	}
	a.meter.WriteString(text)
	a.bytes += len(text)
	if a.begun {
		return a.spill.write(text)
	}
	a.held = append(a.held, text)
	if !a.meter.Exceeds(a.limit) {
		return nil
	}
	if a.spill == nil {
		var err error
		if a.spill, err = a.o.newSpill(a.ctx, a.input); err != nil {
			return err
		}
	}
	if a.bytes <= a.spill.longest || a.meter.Tokens() <= a.spill.longest {
		return nil
	}
	return a.begin()
}

// begin opens the upload and hands over what was held.
func (a *arrival) begin() error {
	a.begun = true
	if err := a.spill.open(); err != nil {
		return err
	}
	held := a.held
	a.held = nil
	for _, text := range held {
		if err := a.spill.write(text); err != nil {
			return err
		}
	}
	return nil
}

func (a *arrival) finish() (verdict, error) { return a.spill.finish(int64(a.meter.Tokens())) }

func (a *arrival) release() {
	if a.spill != nil {
		a.spill.release()
	}
}

// spill is a text on its way into the backend.
type spill struct {
	o     *offloader
	ctx   context.Context
	input *compose.ToolInput

	own, path string // the name that the text should have, and the one it is uploaded under
	longest   int    // bytes of a notice without a sample, with the longest name and numbers it can have
	upload    Upload // nil before it is opened, and once it is committed or aborted
	sample    Sample
	notice    *notice
	partial   bool          // the last line has no newline yet
	hash      *maphash.Hash // only where the name is taken, perhaps by the same text
}

// newSpill asks for the result's name, because only with it is known how long a notice can become.
func (o *offloader) newSpill(ctx context.Context, input *compose.ToolInput) (*spill, error) {
	s := &spill{o: o, ctx: ctx, input: input, sample: o.cfg.Sampler(), notice: o.newNotice(input)}
	var err error
	if s.own, err = o.path(ctx, input, rand.Text()); err != nil {
		return s, s.fail(naming, err)
	}
	largest := *s.notice
	largest.path = s.own
	if second := withSuffix(s.own, rand.Text()); len(second) > len(s.own) {
		largest.path = second
	}
	largest.bytes, largest.lines, largest.tokens = math.MaxInt64, math.MaxInt64, math.MaxInt64
	s.longest = len(o.template.render(&largest))
	return s, nil
}

// open begins the upload under the result's own name, or under a random one where that is taken.
func (s *spill) open() error {
	s.path = s.own
	if s.o.store.exists(s.ctx, s.own) {
		s.path = withSuffix(s.own, rand.Text())
		s.hash = new(maphash.Hash)
	}
	upload, err := s.o.store.creator.Create(s.ctx, &CreateRequest{FilePath: s.path})
	if err != nil {
		return s.fail(storing, err)
	}
	s.upload = upload
	return nil
}

func (s *spill) write(text string) error {
	if text == "" {
		return nil
	}
	if _, err := s.sample.WriteString(text); err != nil {
		return s.fail(sampling, err)
	}
	if s.hash != nil {
		s.hash.WriteString(text)
	}
	s.notice.bytes += int64(len(text))
	s.notice.lines += int64(strings.Count(text, "\n"))
	s.partial = text[len(text)-1] != '\n'
	if _, err := s.upload.WriteString(text); err != nil {
		return s.fail(storing, err)
	}
	return nil
}

// finish makes the upload visible, unless the same text was there before, and returns the notice.
func (s *spill) finish(tokens int64) (verdict, error) {
	if s.partial {
		s.notice.lines++
	}
	s.notice.tokens = tokens
	if s.hash != nil && s.o.store.holds(s.ctx, s.own, s.notice.bytes, s.hash) {
		s.path = s.own
		s.release()
	} else if err := s.commit(); err != nil {
		return verdict{}, s.fail(storing, err)
	}
	said, after, err := s.say()
	if err != nil {
		return verdict{}, s.fail(counting, err)
	}
	s.o.report(s.ctx, s.input, OffloadEvent{Path: s.path, Bytes: s.notice.bytes, Lines: s.notice.lines, TokensBefore: tokens, TokensAfter: after})
	return verdict{text: said, path: s.path}, nil
}

// say renders the notice and counts it. The text is gone, so a notice that would not be smaller does without its sample.
func (s *spill) say() (said string, tokens int64, err error) {
	s.notice.path = s.path
	for _, sample := range []string{s.sample.String(), ""} {
		s.notice.sample = sample
		said = s.o.template.render(s.notice)
		tokens, err = s.o.size.count(s.ctx, s.input, said)
		if err != nil || int64(len(said)) < s.notice.bytes && tokens < s.notice.tokens {
			break
		}
	}
	return said, tokens, err
}

// commit tries a random name where another result took the path meanwhile, if the upload can still be named.
func (s *spill) commit() error {
	err := s.upload.Commit()
	if renamer, ok := s.upload.(Renamer); ok && errors.Is(err, fs.ErrExist) {
		s.path = withSuffix(s.own, rand.Text())
		err = renamer.CommitAs(s.path)
	}
	if err == nil {
		s.upload = nil
	}
	return err
}

// fail reports a failure and gives the upload up.
func (s *spill) fail(at stage, err error) error {
	err = failure{stage: at, path: s.path, err: err}.wrap(s.input.CallID)
	s.release()
	s.o.report(s.ctx, s.input, OffloadEvent{Path: s.path, Bytes: s.notice.bytes, Lines: s.notice.lines, Err: err})
	return err
}

func (s *spill) release() {
	if s.upload != nil {
		s.upload.Abort() // what it could not remove is swept as any left-over is; the failure that led here is the one to report
		s.upload = nil
	}
}
