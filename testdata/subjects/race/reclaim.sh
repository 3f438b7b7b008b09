# A lock holds its owner's process id, and one whose owner is gone is taken over. Bad:
# it is renamed aside by its path, so that it may be the next holder's by then. Good:
# one at a time.
[ "$1" = bad ] || { exec 9>>lock.guard; flock 9; }
holder=
[ -e lock ] && read holder <lock
if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
	mv lock "lock.$$" && rm "lock.$$"
fi 2>/dev/null
echo "$$" >"own.$$"
ln "own.$$" lock 2>/dev/null || { rm "own.$$"; exit 3; }
rm "own.$$"
exec 9>&-
read n <count
echo $((n + 1)) >count
rm -f lock
