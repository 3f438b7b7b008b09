package shim

// stackRegions is the high word of the addresses on this goroutine's stack. With
// the C library linked the thread has another one, which cannot be found out here:
// build with CGO_ENABLED=0.
func stackRegions() []uint32 { return []uint32{stackRegion()} }
