/* Holds a flock on its pid file, starts a child, which goes on, and ends; or waits for its
   end. Bad: the child has the descriptor, and with it the lock. Good: exec closes it.
     r09 bad|good [wait] */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>

extern char **environ;

/* start returns when the child has become its program: a fork has the descriptor until then. */
static pid_t start(void) {
	char *sleep[] = {"sleep", "1000", NULL};
	pid_t pid = 0;
	int fd;
	posix_spawn_file_actions_t quiet;
	posix_spawn_file_actions_init(&quiet);
	for (fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	if (posix_spawnp(&pid, "sleep", &quiet, NULL, sleep, environ))
		_exit(1);
	return pid;
}

/* note appears with its contents: a script waits for it. */
static int note(const char *name, pid_t pid) {
	FILE *f = fopen("note.tmp", "w");
	return !f || fprintf(f, "%d\n", pid) < 0 || fclose(f) || rename("note.tmp", name);
}

int main(int argc, char **argv) {
	int good = !strcmp(argv[1], "good");
	int fd = open("d.pid", O_RDWR | O_CREAT | (good ? O_CLOEXEC : 0), 0644);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		fprintf(stderr, "r09: already running\n");
		return 3;
	}
	if (ftruncate(fd, 0) || dprintf(fd, "%d\n", getpid()) < 0 || note("child", start()))
		return 1;
	if (argc > 2)
		pause();
	return 0;
}
