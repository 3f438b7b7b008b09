# Writes a report, but never into the repository: it must lie outside. Bad: takes the
# place where it was started for the repository. Good: looks above the report for the
# repository's mark; where it cannot look, it refuses.
refuse() {
	echo "pwdguard: $1: $2" >&2
	exit 3
}

# marked lists, since a test for a name does not tell "not there" from "not seen".
marked() {
	at=$1
	while [ "$at" != / ]; do
		names=$(ls -A "$at") || return 0
		case "
$names
" in *"
.root
"*) return 0 ;; esac
		at=$(dirname "$at")
	done
	return 1
}

folder=$(cd "$2" && pwd -P) || refuse "$2" "cannot be entered"
case $1 in
bad) case $folder/ in "$PWD"/*) refuse "$folder" "lies inside the repository" ;; esac ;;
good) if marked "$folder"; then refuse "$folder" "lies inside the repository"; fi ;;
esac
echo done >"$folder/report" || refuse "$folder/report" "not written"
