#!/bin/sh
# Leaves a Chromium that the tests of the HTML report can drive: uses one that is there, else installs Debian's where it
# may (root on Debian or Ubuntu), else says what to do. Idempotent. Prints its path. Exit 0: there is one; 69: none.
set -eu

find_chromium() {
    if [ -n "${ARCI_CHROMIUM:-}" ]; then
        command -v "$ARCI_CHROMIUM"
        return
    fi
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" && return
    done
    return 1
}

advise() {
    echo "chromium: $1" >&2
    echo "chromium: install Chromium or Chrome, or point ARCI_CHROMIUM at one; as root on Debian or Ubuntu this script" >&2
    echo "chromium: does it. Only the tests in tests/browser need it." >&2
    exit 69
}

may_install() {
    [ "$(id -u)" = 0 ] && [ -r /etc/os-release ] && grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

find_chromium && exit 0
[ -z "${ARCI_CHROMIUM:-}" ] || advise "ARCI_CHROMIUM=$ARCI_CHROMIUM is no program."
may_install || advise "there is none, and this is not root on Debian or Ubuntu."
echo "chromium: installing chromium" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >&2
# A font, so that the page has letters to be looked at.
apt-get install -qy --no-install-recommends chromium fonts-dejavu-core >&2
find_chromium || advise "it was installed and is not on the PATH."
