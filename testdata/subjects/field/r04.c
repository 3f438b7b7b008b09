/* A daemon that writes its pid file through stdio, whose only real write is made at the end.
     r04 bad|good         writes the file, says "ready", and has nothing to do
     r04 bad|good wait    ... and makes the file ready, and serves until it is stopped
     r04 stop             stops the one whose number stands in the file
   Bad looks at fprintf, which only fills the buffer. Good looks at what empties it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int record(int good) {
	FILE *f = fopen("d.pid", "w");
	int failed = !f || fprintf(f, "%d\n", getpid()) < 0;
	if (f && fclose(f) && good)
		failed = 1;
	if (!failed)
		return 0;
	fprintf(stderr, "r04: d.pid: %s\n", strerror(errno));
	if (good)
		unlink("d.pid");
	return 1;
}

static int stop(void) {
	int pid;
	FILE *f = fopen("d.pid", "r");
	if (!f || fscanf(f, "%d", &pid) != 1) {
		fprintf(stderr, "r04: nothing runs here\n");
		return 3;
	}
	return kill(pid, SIGTERM) != 0;
}

int main(int argc, char **argv) {
	if (!strcmp(argv[1], "stop"))
		return stop();
	if (record(!strcmp(argv[1], "good")))
		return 1;
	puts("ready");
	fflush(stdout);
	if (argc > 2 && !close(creat("ready", 0644)))
		pause();
	return 0;
}
