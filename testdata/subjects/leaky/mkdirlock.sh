# Counts the lines of a list under a lock. Bad: a folder is the lock, and a step that
# fails ends the script before it is removed. Better: a trap removes it, but a kill
# leaves it, and so does a folder that cannot be removed. Good: the kernel holds it.
set -e

folder() {
	mkdir run.lock 2>/dev/null || { echo "run.lock is there: already running" >&2; exit 75; }
}

case $1 in
bad) folder ;;
better) folder; trap 'rmdir run.lock' EXIT ;;
good) exec 9>>run.lock; flock -n 9 ;;
esac
n=$(wc -l <list)
echo "$n" >lines.tmp
sync lines.tmp
mv -fT lines.tmp lines
case $1 in bad) rmdir run.lock ;; esac
