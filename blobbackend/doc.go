// Package blobbackend keeps tool results in object storage, so that what one machine has offloaded every other can read: S3
// and all that speaks it, Google Cloud Storage and Azure, through gocloud.dev/blob.
//
//	bucket, err := blob.OpenBucket(ctx, "s3://agent-results?region=eu-central-1") // with _ "gocloud.dev/blob/s3blob"
//	backend, err := blobbackend.New(ctx, &blobbackend.Config{Bucket: bucket, Name: "agent-results"})
//
// It does not encrypt or compress, does not retry what the SDK of the store has given up, keeps no copy on disk, and deletes
// nothing by itself. The package imports no driver: the one that the program imports decides which store it can reach, and
// how large the program gets.
//
// Two rules for whoever looks after the bucket: unfinished uploads must be aborted after some days, by a lifecycle rule or
// by package s3sweep, and the Prefix of one Backend must not lie within another's. README.md has both in full.
package blobbackend
