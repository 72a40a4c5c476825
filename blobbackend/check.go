package blobbackend

// Whether a store can do what is asked of it. Much that speaks S3 does not speak all of it, and some of it without an error.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"gocloud.dev/blob"
)

const probeText = "This object tries out the store, and goes at once."

// Check tries out whether the store creates only if absent, keeps metadata and reads ranges, with half a dozen requests. Try it
// on a store that you have not used before: there are some that ignore the condition of a create, and on them two results can
// overwrite each other with no error anywhere.
func (b *Backend) Check(ctx context.Context) error {
	key := b.layout.Probe(rand.Text())
	err := b.probe(ctx, key)
	return pathError("check", "/", errors.Join(err, unlessGone(b.delete(ctx, key))))
}

func (b *Backend) probe(ctx context.Context, key string) error {
	id := rand.Text()
	if err := b.putProbe(ctx, key, id, true); err != nil {
		return err
	}
	o, err := b.look(ctx, key)
	if err != nil {
		return err
	}
	if o.id != id {
		return b.unfit("does not keep metadata")
	}
	text, err := b.fetch(ctx, key, 5, 6)
	if err != nil {
		return err
	}
	if text != probeText[5:11] {
		return b.unfit("does not read ranges")
	}
	if err := b.putProbe(ctx, key, rand.Text(), true); !errors.Is(err, fs.ErrExist) {
		return firstOf(err, b.unfit("does not create only if absent"))
	}
	return b.putProbe(ctx, key, rand.Text(), false)
}

func (b *Backend) putProbe(ctx context.Context, key, id string, exclusive bool) error {
	return b.put(ctx, key, probeText, id, exclusive, &blob.WriterOptions{ContentType: "text/plain", Metadata: metadata(ctx, id)})
}

func (b *Backend) unfit(why string) error {
	return b.storeError(fmt.Errorf("the store %s: %w", why, errors.ErrUnsupported))
}
