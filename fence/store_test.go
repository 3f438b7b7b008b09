package fence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
)

func TestStaleTokenIsRefusedForGood(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	put := func(n uint64, v string) error { return s.Put("k", tok(n), []byte(v)) }
	for i, n := range []uint64{3, 3, 5, 900} {
		if err := put(n, fmt.Sprint("v", i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for _, n := range []uint64{1, 3, 5, 899} {
			stale := wantError[*StaleError](t, put(n, "stale"), "put k into "+s.Path, tok(n).String(), tok(900).String(), "new grant")
			if stale.Token != tok(n) || stale.Mark != tok(900) {
				t.Errorf("got %+v", stale)
			}
		}
		v := must[Value](t)(s.Get("k")) // R18: a look changes nothing
		if string(v.Data) != "v3" || v.Token != tok(900) {
			t.Fatalf("the store holds %q %v", v.Data, v.Token)
		}
	}
	if err := put(900, "again"); err != nil {
		t.Errorf("the holder may write again: %v", err)
	}
	if err := s.Put("other", tok(1), nil); err != nil {
		t.Errorf("another key has a mark of its own: %v", err)
	}
	marks := must[[]Mark](t)(s.Marks())
	if want := []Mark{{"k", tok(900), 5}, {"other", tok(1), 0}}; fmt.Sprint(marks) != fmt.Sprint(want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
}

func TestTokenFromAnotherStore(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	if err := s.Put("k", tok(1), []byte("ours")); err != nil {
		t.Fatal(err)
	}
	other := Token{"fedcba9876543210", 99}
	wantError[*ForeignError](t, s.Put("k", other, nil), s.Path, other.String(), testGrantor, "another store")
	wantError[*ForeignError](t, s.Put("new key", other, nil))
	if v := must[Value](t)(s.Get("k")); string(v.Data) != "ours" {
		t.Errorf("the store holds %q", v.Data)
	}
}

func TestStoreArguments(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	wantError[*InvalidError](t, s.Put("", tok(1), nil), "key")
	wantError[*InvalidError](t, s.Put(string(make([]byte, MaxKey+1)), tok(1), nil), "key")
	wantError[*InvalidError](t, s.Put("k", Token{}, nil), "token")
	wantError[*InvalidError](t, s.Put("k", tok(0), nil), "token")
	wantError[*InvalidError](t, s.Put("k", tok(1), make([]byte, MaxValue+1)), "value")
	_, err := s.Get("k")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file yet: got %v; a refused put must not make one", err)
	}
	s.Put("k", tok(1), nil)
	if _, err = s.Get("other"); !errors.Is(err, ErrNoValue) {
		t.Errorf("no such key: got %v", err)
	}
}

// Many at once create the store and write, each with a token of its own.
func TestConcurrentPuts(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db"), LockWait: limit}
	var wg sync.WaitGroup
	for i := range uint64(8) {
		wg.Go(func() {
			own := fmt.Sprint("own", i)
			if err := s.Put(own, tok(i+1), []byte(own)); err != nil {
				t.Error(err)
			}
			var stale *StaleError
			if err := s.Put("shared", tok(i+1), []byte(own)); err != nil && !errors.As(err, &stale) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range uint64(8) {
		own := fmt.Sprint("own", i)
		if v := must[Value](t)(s.Get(own)); string(v.Data) != own || v.Token != tok(i+1) {
			t.Errorf("%s holds %q %v", own, v.Data, v.Token)
		}
	}
	if v := must[Value](t)(s.Get("shared")); v.Token != tok(8) || !bytes.Equal(v.Data, []byte("own7")) {
		t.Errorf("shared holds %q %v, want the greatest token's", v.Data, v.Token)
	}
	if litter := must[[]string](t)(filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".*"))); len(litter) > 0 {
		t.Errorf("left behind: %v", litter)
	}
}
