package guard

import (
	"io/fs"
	"os"
	"syscall"
)

// names is how many names a file has.
func names(path string, _ fs.FileInfo) int {
	f, err := os.Open(path)
	if err != nil {
		return 2 // not told: look
	}
	defer f.Close()
	var by syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &by); err != nil {
		return 2
	}
	return int(by.NumberOfLinks)
}
