package blobbackend

// What the errors of a store mean. gocloud.dev has one set of codes for all drivers; for what it does not tell apart, the
// SDKs agree on two small interfaces, and no SDK need be imported for them.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"gocloud.dev/gcerrors"
)

// storeError says which bucket, and gives an error of the store its meaning. Every request goes through it once.
func (b *Backend) storeError(err error) error {
	switch {
	case err == nil:
		return nil
	case isMissing(err):
		return fs.ErrNotExist
	case isForbidden(err):
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	if b.cfg.Name == "" {
		return fmt.Errorf("object storage: %w", err)
	}
	return fmt.Errorf("bucket %s: %w", b.cfg.Name, err)
}

// isMissing does not take a missing bucket for a missing object, as the code alone would: a result would be called expired
// while in truth nothing at all can be read.
func isMissing(err error) bool {
	return gcerrors.Code(err) == gcerrors.NotFound && sdkCode(err) != "NoSuchBucket"
}

func isForbidden(err error) bool {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		status := answer.HTTPStatusCode()
		return status == http.StatusUnauthorized || status == http.StatusForbidden
	}
	return gcerrors.Code(err) == gcerrors.PermissionDenied
}

// isTaken holds for a create-if-absent that came too late.
func isTaken(err error) bool { return gcerrors.Code(err) == gcerrors.FailedPrecondition }

// isConflict holds where S3 gave up one of two creates at the same time, and asks for another try.
func isConflict(err error) bool {
	code := sdkCode(err)
	return code == "ConditionalRequestConflict" || code == "OperationAborted"
}

func sdkCode(err error) string {
	var answer interface{ ErrorCode() string }
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

// pathError says what failed for which path.
func pathError(op, virtual string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: virtual, Err: err}
}

// unlessGone forgives that something was already deleted.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// firstOf is the error that came first, because what fails after it mostly fails for the same reason.
func firstOf(first, later error) error { return cmp.Or(first, later) }
