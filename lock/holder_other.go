//go:build !linux

package lock

func bootID() string { return "" }

func pidSpace() string { return "" }

func startTicks(pid int) uint64 { return 0 }

func judgeProcess(r Record) (State, string) {
	return Unknown, "this system is not examined for processes"
}
