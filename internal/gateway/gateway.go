// Package gateway runs versitygw, an S3 server over a directory, for tests and examples: in a temporary directory, on a free loopback port,
// as a process of its own that can be killed and started again.
package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// HowToGet tells how the server is installed.
const HowToGet = "versitygw is missing: go install -ldflags='-s -w' github.com/versity/versitygw/cmd/versitygw@v1.8.0 " +
	"(or point VERSITYGW at it)"

// The keys of the server's only account.
const (
	AccessKey = "testaccess"
	SecretKey = "testsecret"
)

// readyWithin is generous: the server needs 0.2 s on an idle machine.
const readyWithin = 30 * time.Second

// Server is a running server.
type Server struct {
	bin, dir, address string
	process           *exec.Cmd
	ended             chan error
}

// ForTests starts a server, or gives nil where it is not installed. In CI, and where VERSITYGW
// says where it is, that is an error: a suite that tests nothing must not pass there.
func ForTests() (*Server, error) {
	s, err := Start()
	if err == nil || os.Getenv("CI") == "true" || os.Getenv("VERSITYGW") != "" {
		return s, err
	}
	fmt.Fprintln(os.Stderr, "tests on a real server are skipped:", err)
	return nil, nil
}

// RunTests runs the tests of a package with a server, as ForTests gives it, and says how they ended. Its m is a *testing.M, which
// would bring package testing into the examples.
func RunTests(m interface{ Run() int }, server **Server) int {
	started, err := ForTests()
	if started != nil {
		defer started.Remove()
	}
	if err = errors.Join(err, SetCredentials()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*server = started
	return m.Run()
}

// Start starts a server in a new directory.
func Start() (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "versitygw-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if s.address, err = freeAddress(); err == nil {
		err = s.Run()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func find() (string, error) {
	if bin := os.Getenv("VERSITYGW"); bin != "" {
		bin, err := exec.LookPath(bin)
		if err != nil {
			err = fmt.Errorf("VERSITYGW: %w", err)
		}
		return bin, err
	}
	if bin, err := exec.LookPath("versitygw"); err == nil {
		return bin, nil
	}
	said, err := exec.Command("go", "env", "GOPATH").Output()
	if err == nil {
		bin := filepath.Join(strings.TrimSpace(string(said)), "bin", "versitygw")
		if bin, err = exec.LookPath(bin); err == nil {
			return bin, nil
		}
	}
	return "", errors.New(HowToGet)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Run starts the process, also again after Kill: at the same address, over the same directory.
func (s *Server) Run() error {
	s.process = exec.Command(s.bin, "--quiet", "--port", s.address, "posix", s.dir)
	s.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	var said strings.Builder
	s.process.Stderr = &said
	if err := s.process.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func(process *exec.Cmd, ended chan<- error) { ended <- process.Wait() }(s.process, s.ended)
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", s.address); err == nil {
			return conn.Close()
		}
		select {
		case err := <-s.ended:
			return fmt.Errorf("versitygw ended: %v: %s", err, said.String())
		default:
		}
		if time.Since(begun) > readyWithin {
			s.Kill()
			return errors.New("versitygw is not ready after " + readyWithin.String())
		}
	}
}

// Kill ends the process at once, as a crash would.
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // an error is one of a process that has ended
	<-s.ended
}

// Remove ends the server for good.
func (s *Server) Remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// Address is host and port.
func (s *Server) Address() string { return s.address }

// MakeBucket makes a bucket. To this server it is a directory.
func (s *Server) MakeBucket(name string) error { return os.Mkdir(filepath.Join(s.dir, name), 0o755) }

// RemoveBucket removes a bucket and all that is in it.
func (s *Server) RemoveBucket(name string) error { return os.RemoveAll(filepath.Join(s.dir, name)) }

// Age makes an object look older.
func (s *Server) Age(bucket, key string, by time.Duration) error {
	then := time.Now().Add(-by)
	return os.Chtimes(filepath.Join(s.dir, bucket, filepath.FromSlash(key)), then, then)
}

// URL opens a bucket by gocloud.dev/blob. The credentials come from the environment; see SetCredentials.
func (s *Server) URL(bucket string) string { return URL(bucket, s.address) }

// URL is that of a bucket behind any address.
func URL(bucket, address string) string {
	query := url.Values{
		"endpoint":       {"http://" + address},
		"region":         {"us-east-1"},
		"use_path_style": {"true"},
		// The SDK's own checksums, which only AWS is sure to understand.
		"request_checksum_calculation": {"when_required"},
		"response_checksum_validation": {"when_required"},
	}
	return "s3://" + bucket + "?" + query.Encode()
}

// SetCredentials puts the account's keys where the SDK looks for them.
func SetCredentials() error {
	return errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey),
		os.Setenv("AWS_EC2_METADATA_DISABLED", "true"))
}
