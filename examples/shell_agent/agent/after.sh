# Deploys the wanted version where another one runs. The attempts are one loop, with a word about each.
set -eu
. ./mcp.sh

# retry COUNT COMMAND...
retry() {
    left=$1
    shift
    until "$@"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        echo "failed, $left attempts left" >&2
    done
}

version=$(sed 's/.*"version" *: *"\([^"]*\)".*/\1/' "$ARCI_TASK_FILE")
call get_version '{"service":"web"}'
case $answer in *"\"result\":\"$version\""*) exit 0 ;; esac
retry 3 call deploy "{\"service\":\"web\",\"version\":\"$version\"}"
