# A file with a process id says that one runs. Bad: looked for, and then written.
if [ "$1" = bad ]; then
	[ -e pid ] && exit 3
	echo "$$" >pid
else
	(set -C && echo "$$" >pid) 2>/dev/null || exit 3
fi
read n <count
echo $((n + 1)) >count
rm pid
