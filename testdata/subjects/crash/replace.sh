# replace.sh VARIANT TEXT: replaces the file "state" by way of a temporary one, and
# says so when it is done.
#
#	good    data synced, renamed, directory synced, said
#	nosync  without syncing the data: an empty file may stand there
#	nodir   without syncing the directory: what was said may not hold
#	late    renamed first, synced afterwards
#	early   said before the directory is synced
set -e
printf '%s\n' "$2" >state.tmp
case $1 in good|nodir|early) sync state.tmp ;; esac
mv -f state.tmp state
case $1 in
late) sync state; sync . ;;
early) echo "saved $2"; sync .; exit ;;
good|nosync) sync . ;;
esac
echo "saved $2"
