//go:build !unix && !windows

package guard

import "io/fs"

// names is how many names a file has: not told here, so look.
func names(string, fs.FileInfo) int { return 2 }
