/* Replaces a file of settings. What stdio holds is first written at the end: bad
   looks at fprintf, which only fills the buffer, and not at what empties it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "settings", tmp[] = "settings.tmp";

static void fail(const char *what, const char *path) {
	fprintf(stderr, "fclose: %s ", what);
	perror(path);
	unlink(tmp);
	exit(1);
}

static void finish(FILE *f, int bad) {
	if (bad)
		fclose(f);
	else if (fflush(f) || fsync(fileno(f)) || fclose(f))
		fail("write", tmp);
}

int main(int argc, char **argv) {
	int bad = argc > 1 && !strcmp(argv[1], "bad");
	FILE *f = fopen(tmp, "w");
	if (!f)
		fail("create", tmp);
	if (fprintf(f, "mode = fast\nlevel = 9\n") < 0)
		fail("write", tmp);
	finish(f, bad);
	if (rename(tmp, name))
		fail("rename", tmp);
	return 0;
}
