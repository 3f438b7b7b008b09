# The lock of a holder that is gone is renamed aside. Bad: by its path, so that it
# may be the next holder's by then. Good: one at a time.
[ "$1" = bad ] || { exec 9>>lock.guard; flock 9; }
holder=
[ -e lock ] && read holder <lock
if [ "$holder" = gone ]; then
	mv lock "lock.$$" && rm "lock.$$"
fi 2>/dev/null
(set -C && echo here >lock) 2>/dev/null || exit 3
exec 9>&-
read n <count
echo $((n + 1)) >count
rm lock
