# A folder is named by the second in which it is made, and all of that second share it.
n=$(date +%s)
mkdir "d.$n" 2>/dev/null
echo here >>"d.$n/log"
echo here >>all
