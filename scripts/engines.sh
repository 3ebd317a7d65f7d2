#!/bin/sh
# Leaves the programs of other engines on this machine, for the tests of tests/engines: Podman, and what Docker needs to
# run without root. Starts nothing. Idempotent. Exit 0: they are here; 69: they are not, and this may not install them.
set -eu

is_here() {
    for program in podman rootlesskit newuidmap runc dockerd docker; do
        command -v "$program" >/dev/null 2>&1 || { missing=$program && return 1; }
    done
}

is_here && exit 0
if [ "$(id -u)" != 0 ] || ! grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release 2>/dev/null; then
    echo "engines: $missing is not here, and this is not root on Debian or Ubuntu." >&2
    exit 69
fi
export DEBIAN_FRONTEND=noninteractive
lock="-o DPkg::Lock::Timeout=300"
{
    apt-get $lock update -q
    apt-get $lock install -qy --no-install-recommends podman rootlesskit uidmap runc
} >&2
is_here || { echo "engines: $missing is not here; sh scripts/engine.sh installs Docker." >&2 && exit 69; }
