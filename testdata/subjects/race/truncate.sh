# Writes a file anew under its lock. Bad: it was emptied before the lock was had.
if [ "$1" = bad ]; then
	exec 9>state
	flock 9
else
	exec 8>>state.lock
	flock 8
	exec 9>state
fi
echo "begin $2" >&9
[ "$2" = 1 ] && echo "and more" >&9
echo "end $2" >&9
