module drivers

go 1.26

require (
	github.com/google/renameio v0.1.0
	github.com/google/renameio/v2 v2.0.2
)
