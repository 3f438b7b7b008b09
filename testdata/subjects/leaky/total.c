/* Prints the sum of a file of numbers. Bad: leaves the writing to exit, which tells
   nobody that it failed. Good: empties the buffer and looks. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	FILE *f = fopen(argv[2], "r");
	long n, sum = 0;
	if (!f)
		return perror(argv[2]), 1;
	while (fscanf(f, "%ld", &n) == 1)
		sum += n;
	if (ferror(f) || !feof(f))
		return perror(argv[2]), 1;
	printf("total %ld\n", sum);
	if (strcmp(argv[1], "bad") && fflush(stdout))
		return perror("standard output"), 1;
	return 0;
}
