package guard

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// workingDir asks the kernel; os.Getwd believes $PWD where it can.
func workingDir() (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil {
		return "", err
	}
	dir := strings.TrimRight(string(buf[:n]), "\x00")
	if !strings.HasPrefix(dir, "/") {
		return "", fmt.Errorf("it is %s", dir) // "(unreachable)/…": outside this process's root
	}
	return dir, nil
}
