# Counts its runs. Bad: an unreadable count is an empty one, and is truncated before
# it is written. Good: a count is a number or an error, and is replaced whole.
bad() {
	n=$(cat runs)
	echo $((n + 1)) >runs
}

good() {
	n=$(cat runs) || return
	case $n in '' | *[!0-9]*) echo "counter: runs holds no number" >&2; return 1 ;; esac
	echo $((n + 1)) >runs.tmp && sync runs.tmp && mv -fT runs.tmp runs
}

"$1"
