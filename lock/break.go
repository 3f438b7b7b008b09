package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
)

// ErrNotHeld is returned by Break when there is no lock at the path any more.
var ErrNotHeld = errors.New("there is no lock: nothing to clear")

var errKernelFrees = errors.New("the kernel frees this lock when its holder ends, and the file must stay: nothing to clear")

// ErrToken is returned by Break for a string that cannot be the token of any lock.
var ErrToken = errors.New("not a token: want 32 hexadecimal digits, or inode:DEV:INO:CTIME:SIZE for a half-made lock")

// ChangedError is returned by Break when the lock at the path is not the one that was looked at. Nothing was removed.
type ChangedError struct {
	Token string // what was asked for
	Now   Status // what is there
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("not cleared: this is not the lock with token %s any more: %s", e.Token, e.Now)
}

var identityForm = regexp.MustCompile(`^inode:[0-9]+:[0-9]+:-?[0-9]+:[0-9]+$`)

// CheckToken returns an error that Is ErrToken unless s has the form of a token.
func CheckToken(s string) error {
	if isRecordToken(s) || identityForm.MatchString(s) {
		return nil
	}
	return fmt.Errorf("%q is %w", s, ErrToken)
}

// Break removes the lock at path if it is still the one that token names, whether its holder lives or not. The token is
// that of a refusal or of Inspect: Status.Token. A holder that lives loses its lock, and its Release will say so.
//
// Errors: one that Is ErrToken or ErrNotHeld; a *ChangedError; an error that Is errors.ErrUnsupported where the file
// system has no flock, since two removers could not be kept apart there; a *fs.PathError.
func Break(path, token string) error {
	if err := CheckToken(token); err != nil {
		return err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("lock %s: %w (give an absolute path)", path, err)
	}
	f, err := openForLook(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fs.PathError{Op: "unlock", Path: path, Err: ErrNotHeld}
	case err != nil:
		return err
	}
	p := &pin{f: f}
	defer p.close()
	if err := p.lock(Limit); err != nil {
		return &fs.PathError{Op: "flock", Path: path, Err: err}
	}
	defer p.unlock() // a child between fork and exec still has the descriptor: closing is not enough
	return p.breakIf(path, token)
}

// breakIf looks again, under the flock: from here to the unlink nobody else takes this file off the path.
func (p *pin) breakIf(path, token string) error {
	named, err := p.names(path)
	if err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	now := Status{Path: path}
	if named {
		err = now.read(p.f)
	} else {
		now, err = Inspect(path) // somebody was faster, and somebody else may have a lock there by now
	}
	switch {
	case err != nil:
		return err
	case now.State == Free:
		return &fs.PathError{Op: "unlock", Path: path, Err: ErrNotHeld}
	case !named || now.Token != token:
		return &ChangedError{Token: token, Now: now}
	case now.Record.Design == designFlock:
		return &fs.PathError{Op: "unlock", Path: path, Err: errKernelFrees}
	}
	return unlink(path)
}
