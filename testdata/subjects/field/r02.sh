# Starts, stops and asks after a daemon by its pid file. Bad: whoever has the number that
# stands there is the daemon. Good: who has it must also have started when the daemon did.
#   r02.sh bad|good start|stop|status
pid= start=
[ ! -e d.pid ] || read -r pid start <d.pid

started() { cut -d' ' -f22 "/proc/$1/stat"; }

running() {
	kill -0 "$pid" 2>/dev/null || return
	[ "$1" = bad ] || [ "$(started "$pid")" = "$start" ]
}

case $2 in
start)
	! running "$1" || { echo "already running"; exit 1; }
	echo "$$ $(started $$)" >d.pid.tmp
	mv d.pid.tmp d.pid
	exec sleep 1000
	;;
stop)
	running "$1" || { rm -f d.pid; echo "not running"; exit 0; }
	kill "$pid" && rm d.pid && echo stopped
	;;
status) if running "$1"; then echo running; else echo stopped; fi ;;
esac
