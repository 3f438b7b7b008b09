module faultlab/bench

go 1.26.0

require (
	faultlab v0.0.0
	github.com/hanwen/go-fuse/v2 v2.12.1
	go.etcd.io/bbolt v1.5.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	golang.org/x/sync v0.25.0
)

replace faultlab => ..
