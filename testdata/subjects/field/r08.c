/* Is inside under a flock, as often as the second argument says, and tidies the file away.
   unlink-first, unlock-first: in this order, and nobody looks what he has locked.
   impatient: does not wait, and also tidies away where another one is inside.
   good, good-impatient: what was locked must be what the path names; only its holder unlinks. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>

static int good, impatient, unlock_first;

static int named(int fd) {
	struct stat mine, now;
	return !fstat(fd, &mine) && !stat("L", &now) && mine.st_dev == now.st_dev && mine.st_ino == now.st_ino;
}

static int take(void) {
	for (;;) {
		int fd = open("L", O_RDWR | O_CREAT, 0644);
		if (fd < 0 || flock(fd, impatient ? LOCK_EX | LOCK_NB : LOCK_EX)) {
			if (impatient && !good)
				unlink("L");
			close(fd);
			return -1;
		}
		if (!good || named(fd))
			return fd;
		close(fd);
	}
}

static void inside(void) {
	char line[40];
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (write(fd, line, snprintf(line, sizeof line, "enter %d\n", getpid())) < 0 ||
	    write(fd, line, snprintf(line, sizeof line, "leave %d\n", getpid())) < 0)
		exit(4);
	close(fd);
}

static int once(void) {
	int fd = take();
	if (fd < 0)
		return 3;
	inside();
	if (unlock_first)
		flock(fd, LOCK_UN);
	unlink("L");
	close(fd);
	return 0;
}

int main(int argc, char **argv) {
	int i, status = 0;
	good = !strncmp(argv[1], "good", 4);
	impatient = strstr(argv[1], "impatient") != NULL;
	unlock_first = !strcmp(argv[1], "unlock-first");
	for (i = 0; i < atoi(argv[2]); i++)
		status |= once();
	return status;
}
