package fence_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"faultlab/fence"
)

// A worker that slept through the end of its lease cannot overwrite what its
// successor wrote.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	g, err := fence.OpenGrantor(filepath.Join(dir, "leases.db"), fence.VirtualClock())
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	store := fence.Store{Path: filepath.Join(dir, "scores.db")}

	sleeper, err := g.Grant("data", "sleeper", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Advance(time.Minute); err != nil {
		log.Fatal(err)
	}
	next, err := g.Grant("data", "next", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("next:", store.Put("champion", next.Token, []byte("0.93")))

	err = store.Put("champion", sleeper.Token, []byte("0.12"))
	var stale *fence.StaleError
	fmt.Println("sleeper is stale:", errors.As(err, &stale), stale.Token.N, "<", stale.Mark.N)
	v, err := store.Get("champion")
	fmt.Printf("%s %v\n", v.Data, err)
	// Output:
	// next: <nil>
	// sleeper is stale: true 1 < 2
	// 0.93 <nil>
}

// Leases are asked for by whoever knows the socket.
func ExampleClient() {
	c := fence.Client{Socket: "/nonexistent/coordinator.sock"}
	_, _, err := c.Leases(context.Background())
	var u *fence.UnreachableError
	fmt.Println(errors.As(err, &u), u.Sent)
	// Output: true false
}
