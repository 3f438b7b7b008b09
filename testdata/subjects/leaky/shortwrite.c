/* Replaces a table of 256 bytes. Bad: takes a write that is not an error for a
   write of everything. Good: goes on until all is written. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "table", tmp[] = "table.tmp";

static void fail(const char *what, const char *path) {
	fprintf(stderr, "shortwrite: %s ", what);
	perror(path);
	unlink(tmp);
	exit(1);
}

static void put(int fd, const char *p, size_t left, int bad) {
	while (left > 0) {
		ssize_t n = write(fd, p, left);
		if (n < 0)
			fail("write", tmp);
		if (bad)
			return;
		p += n;
		left -= n;
	}
}

int main(int argc, char **argv) {
	char table[256];
	for (int i = 0; i < (int)sizeof table; i++)
		table[i] = i % 64 == 63 ? '\n' : 'a' + i % 26;
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail("create", tmp);
	put(fd, table, sizeof table, argc > 1 && !strcmp(argv[1], "bad"));
	if (fsync(fd) || close(fd))
		fail("write", tmp);
	if (rename(tmp, name))
		fail("rename", tmp);
	return 0;
}
