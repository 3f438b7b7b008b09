// A subject that does one thing, named by its first argument, in the directory
// where it is started. What it learns it prints; a line each.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long n) {
	printf("%s %ld%s%s\n", what, n, n < 0 ? " " : "", n < 0 ? strerror(errno) : "");
	fflush(stdout);
}

static int out(int flags) {
	int fd = open("out", O_CREAT | O_WRONLY | flags, 0644);
	if (fd < 0) { perror("open out"); exit(3); }
	return fd;
}

static void fill(char *p, size_t n) {
	for (size_t i = 0; i < n; i++) p[i] = 'a' + i % 26;
}

static void nothing(int sig) { (void)sig; }

static void handle(int sig, void (*f)(int), int flags) {
	struct sigaction sa = {.sa_handler = f, .sa_flags = flags};
	sigaction(sig, &sa, NULL);
}

// Signals every 100 microseconds, with or without SA_RESTART.
static void storm(int flags) {
	handle(SIGALRM, nothing, flags);
	struct itimerval t = {{0, 100}, {0, 100}};
	setitimer(ITIMER_REAL, &t, NULL);
}

static int writes(int n, int flags) {
	int broken = 0, fd = out(O_APPEND);
	storm(flags);
	for (int i = 0; i < n; i++) {
		if (write(fd, "x", 1) == 1) continue;
		if (errno != EINTR) { say("write", -1); return 3; }
		broken++;
	}
	handle(SIGALRM, SIG_IGN, 0);
	say("broken", broken);
	return 0;
}

static int big(size_t n) {
	char *p = malloc(n);
	fill(p, n);
	long got = write(out(0), p, n);
	creat("after", 0644);
	say("write", got);
	return 0;
}

static int shapes(const char *how) {
	char buf[64];
	fill(buf, sizeof buf);
	if (!strcmp(how, "append")) {
		int fd = out(O_APPEND);
		write(fd, "head-", 5);
		say("write", write(fd, buf, 20));
		say("write", write(fd, "!", 1));
	} else if (!strcmp(how, "pwrite")) {
		int fd = out(0);
		say("pwrite", pwrite(fd, buf, 20, 3));
		say("offset", lseek(fd, 0, SEEK_CUR));
	} else if (!strcmp(how, "writev")) {
		// The vectors stand in read-only memory: a torn write must not mind.
		struct iovec *v = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		v[0] = (struct iovec){buf, 3}; v[1] = (struct iovec){buf + 3, 10}; v[2] = (struct iovec){buf + 13, 7};
		mprotect(v, 4096, PROT_READ);
		int fd = out(0);
		say("writev", writev(fd, v, 3));
		say("length", v[0].iov_len * 10000 + v[1].iov_len * 100 + v[2].iov_len);
		say("writev", writev(fd, v, 3));
	} else if (!strcmp(how, "edge")) {
		char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p + 4096, 4096);
		fill(p + 4096 - 20, 20);
		say("write", write(out(0), p + 4096 - 20, 20));
	} else if (!strcmp(how, "fsize")) {
		handle(SIGXFSZ, SIG_IGN, 0);
		struct rlimit r = {4, RLIM_INFINITY};
		setrlimit(RLIMIT_FSIZE, &r);
		int fd = out(0);
		long first = write(fd, buf, 20), second = write(fd, buf, 20), e = errno;
		r.rlim_cur = RLIM_INFINITY;
		setrlimit(RLIMIT_FSIZE, &r);
		say("write", first);
		errno = e;
		say("write", second);
	} else if (!strcmp(how, "direct")) {
		void *p = NULL;
		posix_memalign(&p, 4096, 8192);
		fill(p, 8192);
		int fd = out(O_DIRECT);
		say("write", write(fd, p, 8192));
	} else if (!strcmp(how, "pipe")) {
		handle(SIGPIPE, SIG_IGN, 0);
		mkfifo("out", 0644);
		int r = open("out", O_RDONLY | O_NONBLOCK), fd = open("out", O_WRONLY);
		say("write", write(fd, buf, 20));
		close(r);
		say("write", write(fd, buf, 20));
	} else if (!strcmp(how, "sendfile") || !strcmp(how, "copy")) {
		int in = open("in", O_RDONLY), fd = out(0);
		say(how, !strcmp(how, "copy") ? copy_file_range(in, NULL, fd, NULL, 20, 0)
		                              : syscall(SYS_sendfile, fd, in, NULL, 20));
		say("offset", lseek(fd, 0, SEEK_CUR));
	} else if (!strcmp(how, "splice")) {
		int p[2];
		pipe(p);
		write(p[1], buf, 20);
		say(how, splice(p[0], NULL, out(0), NULL, 20, 0));
	} else if (!strcmp(how, "read")) {
		int in = open("in", O_RDONLY);
		say("read", read(in, buf, 20));
		say("read", read(in, buf, 20));
	}
	return 0;
}

static int closes(void) {
	int fd = out(0);
	flock(fd, LOCK_EX);
	say("close", close(fd));
	say("again", close(fd));
	fd = out(0);
	say("flock", flock(fd, LOCK_EX | LOCK_NB));
	return 0;
}

static void *holder(void *arg) {
	int fd = *(int *)arg;
	close(creat("locked", 0644));
	usleep(100000);
	flock(fd, LOCK_UN);
	return NULL;
}

// The lock is held by another description and given up after a while.
static int waits(void) {
	int a = out(0), b = out(0);
	flock(a, LOCK_EX);
	pthread_t t;
	pthread_create(&t, NULL, holder, &a);
	say("flock", flock(b, LOCK_EX));
	return 0;
}

static int names(void) {
	int fd = out(0);
	link("out", "other");
	unlink("out");
	write(fd, "1", 1);          // the name it was opened by is gone
	int odd = open("odd (deleted)", O_CREAT | O_WRONLY, 0644);
	write(odd, "2", 1);         // a legal name
	int moved = open("old", O_CREAT | O_WRONLY, 0644);
	rename("old", "new");
	write(moved, "3", 1);
	mkdir("dir", 0755);
	symlink("dir", "alias");
	int in = open("alias/file", O_CREAT | O_WRONLY, 0644);
	write(in, "4", 1);
	symlink("nowhere", "dangling");
	int late = open("dangling", O_CREAT | O_WRONLY, 0644);
	write(late, "5", 1);
	int dir = open("dir", O_RDONLY);
	int at = openat(dir, "../dir/file", O_WRONLY);
	write(at, "6", 1);
	chdir("dir");
	int rel = open("../new", O_WRONLY);
	write(rel, "7", 1);
	char self[64];
	snprintf(self, sizeof self, "/proc/self/fd/%d", rel);
	int re = open(self, O_WRONLY);
	write(re, "8", 1);
	return 0;
}

static int kinds(void) {
	int fd = out(0);
	write(fd, "data", 4);
	close(fd);
	close(open("out", O_CREAT | O_RDWR, 0644));      // open: it is there
	close(open("out", O_WRONLY | O_TRUNC));          // truncate: it has data
	close(open("out", O_WRONLY | O_TRUNC));          // open: it is empty
	close(open("out", O_CREAT | O_EXCL, 0644));      // open, which fails
	close(open(".", O_TMPFILE | O_WRONLY, 0644));
	struct { __u64 flags, mode, resolve; } how = {O_CREAT | O_WRONLY, 0644, 0};
	close(syscall(SYS_openat2, AT_FDCWD, "two", &how, sizeof how));
	mknod("fifo", S_IFIFO | 0644, 0);
	symlink("out", "sym");
	link("out", "hard");
	rename("two", "out");
	struct sockaddr_un un = {AF_UNIX, "sock"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(s, (void *)&un, sizeof un);
	listen(s, 1);
	int c = socket(AF_UNIX, SOCK_STREAM, 0);
	connect(c, (void *)&un, sizeof un);
	int a = open("hard", O_RDONLY), b = open("out", O_WRONLY);
	ioctl(b, 0x40049409 /* FICLONE */, a);
	fallocate(b, 0, 0, 4096);
	ftruncate(b, 1);
	truncate("out", 0);
	fsync(b);
	futimens(b, NULL);
	chmod("out", 0600);
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	fcntl(b, F_SETLK, &l);
	l.l_type = F_UNLCK;
	fcntl(b, F_SETLK, &l); // releasing is no operation
	mkdir("d", 0755);
	rmdir("d");
	unlink("hard");
	return 0;
}

// An open of every sort, then what makes names that are there already.
static int opens(void) {
	close(creat("f", 0644));
	close(open("f", O_RDONLY));
	close(open("f", O_WRONLY));
	close(open("f", O_RDWR));
	close(open("f", O_CREAT | O_RDONLY, 0644));
	close(open("f", O_TRUNC | O_RDONLY));
	close(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644)); // fails
	close(open("f", O_PATH | O_RDWR | O_CREAT));         // all but O_PATH is ignored
	close(open("new", O_CREAT | O_RDONLY, 0644));
	close(open("none", O_RDONLY)); // fails
	close(open(".", O_TMPFILE | O_RDWR, 0644));
	close(openat(AT_FDCWD, "f", O_WRONLY));
	struct { __u64 flags, mode, resolve; } how = {O_RDONLY, 0, 0};
	close(syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof how));
	how.flags = O_RDWR;
	close(syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof how));
#ifdef SYS_open // the C library's open is openat
	close(syscall(SYS_open, "f", O_RDONLY));
	close(syscall(SYS_open, "f", O_RDWR));
#else
	close(open("f", O_RDONLY));
	close(open("f", O_RDWR));
#endif
	mkdir("d", 0755);
	mkdir("d", 0755);
	mknod("f", S_IFREG | 0644, 0);
	symlink("nowhere", "f");
	link("f", "hard");
	link("f", "hard");
	unlink("hard");
	return 0;
}

static int daemons(void) {
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			close(creat("daemon", 0644));
			for (;;) pause();
		}
		_exit(0);
	}
	wait(NULL);
	while (access("daemon", F_OK)) usleep(1000);
	return 0;
}

// Writes its number into the file pid, and never ends.
static int sleeper(void) {
	FILE *f = fopen("new", "w");
	fprintf(f, "%d", getpid());
	fclose(f);
	rename("new", "pid");
	for (;;) pause();
}

// Leaves a process behind that is tied to its run by one thing only: its group,
// without an environment, or its environment, in a session of its own.
static int strays(const char *tie, int stays) {
	if (fork() == 0) {
		if (strcmp(tie, "mark") == 0) setsid();
		else execle("/proc/self/exe", "subject", "sleeper", NULL, (char *[]){NULL});
		if (fork() == 0) sleeper();
		_exit(0);
	}
	while (access("pid", F_OK)) usleep(1000);
	while (stays) pause();
	return 0;
}

static int secret(void) {
	prctl(PR_SET_DUMPABLE, 0);
	say("write", write(out(0), "x", 1));
	return 0;
}

static int maps(void) {
	int fd = out(O_TRUNC);
	close(fd);
	fd = open("out", O_RDWR);
	ftruncate(fd, 4096);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p[0] = 'm';
	struct io_uring_params q = {0};
	say("io_uring", syscall(SYS_io_uring_setup, 1, &q));
	return 0;
}

// A shared map that is made writable later, and synced.
static int remaps(void) {
	int fd = open("out", O_CREAT | O_RDWR, 0644);
	ftruncate(fd, 4096);
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	p[0] = 'm';
	say("msync", msync(p, 4096, MS_SYNC));
	return 0;
}

// A lock that somebody else has, given up at a signal.
static int gives_up(void) {
	int a = out(0), b = out(0);
	flock(a, LOCK_EX);
	handle(SIGALRM, nothing, 0);
	struct itimerval t = {{0, 0}, {0, 100000}};
	setitimer(ITIMER_REAL, &t, NULL);
	say("flock", flock(b, LOCK_EX));
	return 0;
}

static int jails(void) {
	mkdir("root", 0755);
	if (chroot("root")) { say("chroot", -1); return 0; }
	say("create", open("/file", O_CREAT | O_WRONLY, 0644) >= 0 ? 0 : -1);
	return 0;
}

static int foreign(void) {
#ifdef __x86_64__
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); // getpid of i386
	say("pid", r > 0);
#endif
	return 0;
}

static int sandbox(void) {
	struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog prog = {1, &allow};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say("filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
	return 0;
}

static int stopped(void) {
	int fd = out(0);
	close(creat("before", 0644));
	say("write", write(fd, "x", 1));
	return 0;
}

static void count(int sig) { (void)sig; write(open("signals", O_CREAT | O_APPEND | O_WRONLY, 0644), "s", 1); }

static int signalled(void) {
	handle(SIGUSR1, count, 0);
	int fd = out(0);
	say("write", write(fd, "x", 1));
	say("signals", access("signals", F_OK));
	return 0;
}

// A vforked child has its parent's memory, and its calls are held like others.
static int vforks(void) {
	pid_t p = vfork();
	if (p == 0) {
		int fd = open("out", O_CREAT | O_WRONLY, 0644);
		_exit(write(fd, "x", 1) == 1 ? 0 : errno);
	}
	int st;
	waitpid(p, &st, 0);
	say("child", WEXITSTATUS(st));
	return 0;
}

static void *thread(void *arg) {
	int fd = *(int *)arg;
	for (int i = 0; i < 250; i++)
		if (write(fd, "x", 1) != 1) __atomic_add_fetch(&((int *)arg)[1], 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static int threads(void) {
	int shared[2] = {out(O_APPEND), 0};
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, thread, shared);
	for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
	say("failed", shared[1]);
	return 0;
}

// Until it is killed: one line for each call that fails.
static int forever(void) {
	handle(SIGTERM, SIG_IGN, 0);
	for (int i = 0; i < 3; i++) if (fork() == 0) break;
	setsid();
	char name[64];
	snprintf(name, sizeof name, "alive.%d", getpid());
	close(creat(name, 0644));
	for (;;) {
		int fd = open("probe", O_CREAT | O_WRONLY, 0644);
		if (fd < 0 || write(fd, "x", 1) != 1) {
			// The listener must be gone for this to be reached; write where
			// nothing is trapped.
			int e = errno;
			fprintf(stderr, "%s\n", strerror(e));
			_exit(1);
		}
		close(fd);
	}
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	const char *arg = argc > 2 ? argv[2] : "";
#define DO(name, call) if (!strcmp(what, name)) return call
	DO("writes", writes(atoi(arg), SA_RESTART));
	DO("fragile", writes(atoi(arg), 0));
	DO("big", big(atol(arg)));
	DO("shape", shapes(arg));
	DO("close", closes());
	DO("wait", waits());
	DO("names", names());
	DO("kinds", kinds());
	DO("opens", opens());
	DO("daemon", daemons());
	DO("sleeper", sleeper());
	DO("stray", strays(arg, argc > 3));
	DO("secret", secret());
	DO("maps", maps());
	DO("remap", remaps());
	DO("give-up", gives_up());
	DO("jail", jails());
	DO("foreign", foreign());
	DO("sandbox", sandbox());
	DO("stopped", stopped());
	DO("signalled", signalled());
	DO("vfork", vforks());
	DO("threads", threads());
	DO("forever", forever());
	fprintf(stderr, "unknown: %s\n", what);
	return 2;
}
