# Counts under a pid file; a holder that is dead is removed, as many init scripts do.
if ! (set -C; echo $$ >count.pid) 2>/dev/null; then
	kill -0 "$(cat count.pid)" 2>/dev/null && exit 1
	rm -f count.pid
	(set -C; echo $$ >count.pid) 2>/dev/null || exit 1
fi
n=$(cat count) && echo $((n + 1)) >count.tmp && mv count.tmp count
rm -f count.pid
