# What was taken is given back whatever happens. Bad: also what another one took.
[ "$1" = bad ] && trap 'rm -f lock' EXIT
(set -C && : >lock) 2>/dev/null || exit 3
trap 'rm -f lock' EXIT
read n <count
echo $((n + 1)) >count
