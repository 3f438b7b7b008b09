# Adds one to a number in a file. Bad: nobody keeps others out.
[ "$1" = bad ] || { exec 9>>lock; flock 9; }
read n <count
echo $((n + 1)) >count
