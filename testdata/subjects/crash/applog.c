/* applog VARIANT FILE WORD...: appends a record for each word to a log, and says
 * "ack WORD" for it. A record is "LENGTH WORD CHECK\n". It first looks for the
 * log's sound end, as a store does that was killed.
 *
 *	good   synced, then acknowledged; a torn record at the end is cut off
 *	early  acknowledged before it is synced
 *	tail   appends behind a torn record: a reader stops there, and what follows
 *	       is lost
 *
 * applog read FILE: prints the words that a reader finds. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned check(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h % 9000 + 1000;
}

/* sound is where the last whole record ends; each one before it is printed. */
static long sound(const char *name, int print)
{
	char line[4096], word[4096];
	unsigned n, sum;
	long end = 0;
	FILE *f = fopen(name, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%u %4095s %u", &n, word, &sum) != 3 || line[strlen(line) - 1] != '\n' ||
		    n != strlen(word) || sum != check(word))
			break;
		if (print)
			puts(word);
		end = ftell(f);
	}
	fclose(f);
	return end;
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "read"))
		return sound(argv[2], 1) < 0;
	int fd = open(argv[2], O_WRONLY | O_APPEND);
	if (fd < 0)
		return perror(argv[2]), 1;
	if (strcmp(argv[1], "tail") && ftruncate(fd, sound(argv[2], 0)))
		return perror("cut"), 1;
	for (int i = 3; i < argc; i++) {
		char record[8192], ack[4200];
		int n = snprintf(record, sizeof record, "%zu %s %u\n", strlen(argv[i]), argv[i], check(argv[i]));
		int m = snprintf(ack, sizeof ack, "ack %s\n", argv[i]);
		if (write(fd, record, n) != n)
			return perror("append"), 1;
		if (!strcmp(argv[1], "early") && write(1, ack, m) != m)
			return 1;
		if (fsync(fd))
			return perror("sync"), 1;
		if (strcmp(argv[1], "early") && write(1, ack, m) != m)
			return 1;
	}
	return 0;
}
