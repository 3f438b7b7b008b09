module drivers

go 1.26

require (
	github.com/alexflint/go-filemutex v1.3.0
	github.com/gofrs/flock v0.8.1
	github.com/google/renameio v0.1.0
	github.com/google/renameio/v2 v2.0.2
	github.com/nightlyone/lockfile v1.0.0
	github.com/syndtr/goleveldb v1.0.0
)

require (
	github.com/golang/snappy v0.0.0-20180518054509-2e65f85255db // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
)
