# Counts under flock(1).
exec 9>>count.lock
flock 9
n=$(cat count) && echo $((n + 1)) >count.tmp && mv count.tmp count
