/* threads: eight of them make, write, rename and remove files of the same names at
 * once, and write into one file by one offset. Only who makes the calls himself
 * knows their order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int shared;

static void *work(void *arg)
{
	long id = (long)arg;
	char name[64], text[64], to[64];
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "t%ld-%d", id % 2, i % 5);
		int fd = open(name, O_RDWR | O_CREAT | (i % 3 ? 0 : O_TRUNC), 0640);
		int n = snprintf(text, sizeof text, "%ld %d\n", id, i);
		if (fd < 0 || write(fd, text, n) != n || pwrite(shared, text, n, i * 16) != n || write(shared, text, n) != n)
			return perror(name), NULL;
		if (i % 7 == 0) {
			snprintf(to, sizeof to, "r%d", i);
			rename(name, to);
		}
		if (i % 11 == 0)
			unlink(name);
		if (i % 13 == 0)
			fsync(fd);
		close(fd);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[8];
	shared = open("shared", O_RDWR | O_CREAT, 0644);
	for (long i = 0; i < 8; i++)
		pthread_create(t + i, NULL, work, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
