package shim

import (
	"debug/elf"
	"sync"
)

// goPrograms remembers which executables are Go's.
var goPrograms sync.Map

// isGo reports whether a process runs a program made by the Go toolchain.
func isGo(pid int) bool {
	exe := executable(pid)
	if known, ok := goPrograms.Load(exe); ok {
		return known.(bool)
	}
	is := false
	if f, err := elf.Open(procDir(pid) + "exe"); err == nil {
		is = f.Section(".go.buildinfo") != nil
		_ = f.Close()
	}
	goPrograms.Store(exe, is)
	return is
}
