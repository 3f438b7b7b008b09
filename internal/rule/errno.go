package rule

import "fmt"

// Errno is an error number of Linux, as it is on amd64 and arm64.
type Errno uint16

// ParseErrno reads a name such as "ENOSPC", or one of its aliases.
func ParseErrno(name string) (Errno, bool) {
	n, ok := errnos[name]
	return n, ok
}

// String is the number's first name: "EAGAIN" for EWOULDBLOCK, too.
func (e Errno) String() string {
	if int(e) < len(errnoNames) && errnoNames[e] != "" {
		return errnoNames[e]
	}
	return fmt.Sprintf("errno(%d)", uint16(e))
}

// Signal is a signal's number on Linux, as it is on amd64 and arm64.
type Signal uint8

// ParseSignal reads a name such as "SIGTERM", with or without its "SIG".
func ParseSignal(name string) (Signal, bool) {
	if n, ok := signals[name]; ok {
		return n, true
	}
	n, ok := signals["SIG"+name]
	return n, ok
}

// String is the number's first name.
func (s Signal) String() string {
	if int(s) < len(signalNames) && signalNames[s] != "" {
		return signalNames[s]
	}
	return fmt.Sprintf("signal(%d)", uint8(s))
}

var errnos = numbers[Errno](errnoNames[:], map[string]Errno{
	"EWOULDBLOCK": 11, "EDEADLOCK": 35, "ENOTSUP": 95, "EFSCORRUPTED": 117,
})

var signals = numbers[Signal](signalNames[:], map[string]Signal{
	"SIGIOT": 6, "SIGCLD": 17, "SIGPOLL": 29, "SIGUNUSED": 31,
})

// numbers turns a table of names into one of numbers, and adds it to aliases.
func numbers[N ~uint8 | ~uint16](names []string, aliases map[string]N) map[string]N {
	for n, name := range names {
		if name != "" {
			aliases[name] = N(n)
		}
	}
	return aliases
}

var errnoNames = [...]string{
	1: "EPERM", 2: "ENOENT", 3: "ESRCH", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 8: "ENOEXEC",
	9: "EBADF", 10: "ECHILD", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES", 14: "EFAULT", 15: "ENOTBLK",
	16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 19: "ENODEV", 20: "ENOTDIR", 21: "EISDIR", 22: "EINVAL",
	23: "ENFILE", 24: "EMFILE", 25: "ENOTTY", 26: "ETXTBSY", 27: "EFBIG", 28: "ENOSPC", 29: "ESPIPE",
	30: "EROFS", 31: "EMLINK", 32: "EPIPE", 33: "EDOM", 34: "ERANGE", 35: "EDEADLK",
	36: "ENAMETOOLONG", 37: "ENOLCK", 38: "ENOSYS", 39: "ENOTEMPTY", 40: "ELOOP", 42: "ENOMSG",
	43: "EIDRM", 44: "ECHRNG", 45: "EL2NSYNC", 46: "EL3HLT", 47: "EL3RST", 48: "ELNRNG", 49: "EUNATCH",
	50: "ENOCSI", 51: "EL2HLT", 52: "EBADE", 53: "EBADR", 54: "EXFULL", 55: "ENOANO", 56: "EBADRQC",
	57: "EBADSLT", 59: "EBFONT", 60: "ENOSTR", 61: "ENODATA", 62: "ETIME", 63: "ENOSR", 64: "ENONET",
	65: "ENOPKG", 66: "EREMOTE", 67: "ENOLINK", 68: "EADV", 69: "ESRMNT", 70: "ECOMM", 71: "EPROTO",
	72: "EMULTIHOP", 73: "EDOTDOT", 74: "EBADMSG", 75: "EOVERFLOW", 76: "ENOTUNIQ", 77: "EBADFD",
	78: "EREMCHG", 79: "ELIBACC", 80: "ELIBBAD", 81: "ELIBSCN", 82: "ELIBMAX", 83: "ELIBEXEC",
	84: "EILSEQ", 85: "ERESTART", 86: "ESTRPIPE", 87: "EUSERS", 88: "ENOTSOCK", 89: "EDESTADDRREQ",
	90: "EMSGSIZE", 91: "EPROTOTYPE", 92: "ENOPROTOOPT", 93: "EPROTONOSUPPORT", 94: "ESOCKTNOSUPPORT",
	95: "EOPNOTSUPP", 96: "EPFNOSUPPORT", 97: "EAFNOSUPPORT", 98: "EADDRINUSE", 99: "EADDRNOTAVAIL",
	100: "ENETDOWN", 101: "ENETUNREACH", 102: "ENETRESET", 103: "ECONNABORTED", 104: "ECONNRESET",
	105: "ENOBUFS", 106: "EISCONN", 107: "ENOTCONN", 108: "ESHUTDOWN", 109: "ETOOMANYREFS",
	110: "ETIMEDOUT", 111: "ECONNREFUSED", 112: "EHOSTDOWN", 113: "EHOSTUNREACH", 114: "EALREADY",
	115: "EINPROGRESS", 116: "ESTALE", 117: "EUCLEAN", 118: "ENOTNAM", 119: "ENAVAIL", 120: "EISNAM",
	121: "EREMOTEIO", 122: "EDQUOT", 123: "ENOMEDIUM", 124: "EMEDIUMTYPE", 125: "ECANCELED",
	126: "ENOKEY", 127: "EKEYEXPIRED", 128: "EKEYREVOKED", 129: "EKEYREJECTED", 130: "EOWNERDEAD",
	131: "ENOTRECOVERABLE", 132: "ERFKILL", 133: "EHWPOISON", 134: "EFTYPE",
}

var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
	8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
	14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP",
	20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ",
	26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}
