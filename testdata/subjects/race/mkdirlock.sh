# A folder is the lock, and its owner's record comes later. Bad: a folder without
# a record is taken for what a dead one left.
if ! mkdir lock 2>/dev/null; then
	[ "$1" = bad ] && [ ! -e lock/owner ] || exit 3
	rmdir lock && mkdir lock || exit 3
fi
echo "$$" >lock/owner || exit 4
read n <count
echo $((n + 1)) >count
rm -r lock
