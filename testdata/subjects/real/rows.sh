# The check of a database: it is whole, and every row that was acknowledged is there.
case $1 in
sqlite3) test "$(sqlite3 x.db 'pragma integrity_check')" = ok || { echo not whole; exit 1; }
	rows=$(sqlite3 x.db 'select a from t') || exit 1 ;;
boltput) rows=$(boltput get x.db) || exit 1 ;;
esac
for said in $FAULTFS_STDOUT; do # one for each program of a race
	while read -r verb key; do
		[ "$verb" != ack ] || echo "$rows" | grep -qx "$key" || { echo "lost: $key"; exit 1; }
	done <"$said" || exit 1
done
