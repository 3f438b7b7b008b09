/* r21 bad|good LINES [FILE]: writes so many lines to the file, or to standard output.
   What stdio holds is written at the end: bad asks nobody how that went. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int finish(FILE *f, const char *name)
{
	int failed = fflush(f) || ferror(f) || (name && fsync(fileno(f)));
	if (fclose(f) || failed) {
		perror(name ? name : "standard output");
		if (name)
			unlink(name); /* half a list is none */
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 3 ? argv[3] : NULL;
	FILE *f = name ? fopen(name, "w") : stdout;
	if (!f)
		return perror(name), 1;
	for (long i = atol(argv[2]); i > 0; i--)
		fputs("line\n", f);
	if (!strcmp(argv[1], "good"))
		return finish(f, name);
	if (name)
		fsync(fileno(f)), fclose(f);
	return 0;
}
