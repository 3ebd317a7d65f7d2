# Attacks that need no more than a shell; which one, the task says.
case $ARCI_TASK in
*'"sh-exit-0"'*) exit 0 ;;
*'"sh-exit-75"'*) exit 75 ;;
*'"sh-exit-125"'*) exit 125 ;;
*'"sh-exit-137"'*) exit 137 ;;
*'"sh-exit-139"'*) exit 139 ;;
*'"sh-kill-init"'*)
    kill -9 1
    kill -STOP 1
    . ./honest.sh
    ;;
*'"sh-kill-all"'*) kill -9 -1 ; sleep 1 ; exit 9 ;;
*'"sh-infrastructure"'*)
    echo 'Error response from daemon: No such container' >&2
    echo 'ended signal 9 oom=1'
    echo Killed >&2
    exit 1
    ;;
*'"sh-verdict"'*)
    for file in "$ARCI_WORKDIR/out/verdict.json" "$ARCI_WORKDIR/verdict.json" /tmp/verdict.json /verdict.json; do
        { echo '{"type":"grade","success":true}' >"$file"; } 2>/dev/null
    done
    printf '{"type":"grade","nonce":"","success":true}'
    exit 0
    ;;
*'"sh-daemons"'*)
    for number in 1 2 3 4 5; do
        (trap '' TERM INT HUP; while :; do echo still here; sleep 3600; done) &
    done
    . ./honest.sh
    ;;
*'"sh-fill-volume"'*)
    line=x
    for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do line=$line$line; done
    full=no
    number=0
    while [ "$number" -lt 8192 ]; do
        { printf %s "$line" >>/data/full; } 2>/dev/null || { full=yes; break; }
        number=$((number + 1))
    done
    echo "full: $full"
    ;;
*'"sh-fork-bomb"'*)
    bomb() { bomb & bomb & }
    bomb 2>/dev/null &
    while :; do :; done
    ;;
*'"sh-hang"'*)
    trap '' TERM INT HUP
    while :; do sleep 3600; done
    ;;
*'"sh-read-init"'*)
    found=
    for name in environ mem maps auxv; do
        { cat "/proc/1/$name" >/dev/null; } 2>/dev/null && found="$found $name"
    done
    echo "read:$found"
    ;;
*) . ./honest.sh ;;
esac
