# A lock that nobody has touched for long is removed. Bad: it may be a new one by
# then. Good: one at a time.
[ "$1" = bad ] || { exec 9>>lock.guard; flock 9; }
if [ epoch -nt lock ]; then
	rm -f lock
fi
(set -C && : >lock) 2>/dev/null || exit 3
exec 9>&-
read n <count
echo $((n + 1)) >count
rm lock
