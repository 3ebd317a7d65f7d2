#!/bin/sh
# Leaves a working container engine: uses one that answers, else installs and starts Docker where it may (root on
# Debian or Ubuntu), else says exactly what to do. Idempotent. Exit 0: an engine answers; 69: none does.
set -eu

LOG=${ARCI_ENGINE_LOG:-/var/log/arci-dockerd.log}
PID_FILE=${ARCI_ENGINE_PID_FILE:-/var/run/docker.pid}
PATIENCE_S=${ARCI_ENGINE_PATIENCE_S:-60}
MOST_STARTS=3

answers() {
    command -v docker >/dev/null 2>&1 && docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

advise() {
    echo "engine: $1" >&2
    echo "engine: start Docker (systemctl start docker, or Docker Desktop), or point DOCKER_HOST at an engine;" >&2
    echo "engine: as root on Debian or Ubuntu this script does it. Without an engine: arci run --isolation process" >&2
    exit 69
}

may_install() {
    [ "$(id -u)" = 0 ] && [ -r /etc/os-release ] && grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

install_docker() {
    command -v dockerd >/dev/null 2>&1 && command -v docker >/dev/null 2>&1 && return
    echo "engine: installing docker.io" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >&2
    # Newer releases keep the client in a package of its own.
    apt-get install -qy --no-install-recommends docker.io iptables >&2
    command -v docker >/dev/null 2>&1 || apt-get install -qy --no-install-recommends docker-cli >&2
}

# One that is starting keeps its pid file. A file whose process is gone, a zombie, or another program by now is stale,
# and keeps dockerd from starting.
is_starting() {
    [ -f "$PID_FILE" ] || return 1
    pid=$(cat "$PID_FILE")
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null
}

start_docker() {
    if [ -d /run/systemd/system ]; then
        systemctl start docker >&2 && return
    fi
    is_starting && return
    rm -f "$PID_FILE"
    echo "engine: starting dockerd, its log is $LOG" >&2
    nohup dockerd >>"$LOG" 2>&1 </dev/null &
    started=$!
}

wait_until_it_answers() {
    waited=0 ends=0
    until answers; do
        if [ -n "${started:-}" ] && ! kill -0 "$started" 2>/dev/null; then
            ends=$((ends + 1))
            if [ "$ends" -ge "$MOST_STARTS" ]; then
                tail -n 20 "$LOG" >&2
                advise "dockerd ended by itself; the end of $LOG is above."
            fi
            # What an engine that was killed left behind (a containerd that nobody has reaped yet) can fail a start.
            sleep 1
            started=
            start_docker
        fi
        # The one that we waited for has died meanwhile.
        [ -n "${started:-}" ] || [ -d /run/systemd/system ] || is_starting || start_docker
        [ "$waited" -lt $((PATIENCE_S * 5)) ] || advise "dockerd did not answer within $PATIENCE_S s; see $LOG."
        sleep 0.2
        waited=$((waited + 1))
    done
}

python_answers() {
    # Without the docker command an engine may still be there (Podman, a remote one): arci finds it by itself.
    [ -x .venv/bin/python ] && .venv/bin/python -m arci images list --json >/dev/null 2>&1
}

if ! answers && ! python_answers; then
    [ -z "${DOCKER_HOST:-}" ] || advise "nothing answers at DOCKER_HOST=$DOCKER_HOST."
    may_install || advise "none answers, and this is not root on Debian or Ubuntu."
    install_docker
    start_docker
    wait_until_it_answers
fi
