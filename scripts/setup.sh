#!/bin/sh
# Makes .venv with arci in it (editable) and the development tools. Does nothing where it was done for these inputs.
set -eu

VENV=.venv
STAMP=$VENV/arci-setup.stamp
PYTHON=${PYTHON:-python3}

inputs() {
    # Names and contents: what the installation is made from. The sources of arci itself are used in place.
    cat pyproject.toml hatch_build.py native/*.c native/*.h scripts/setup.sh
    "$PYTHON" -c 'import sys; print(sys.version, sys.executable)'
}

wanted=$(inputs | sha256sum)
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$wanted" ] && [ -x "$VENV/bin/arci" ] &&
    [ -f arci/_native/sources.sha256 ]; then
    exit 0
fi

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $PYTHON is $("$PYTHON" --version 2>&1); 3.11 or newer is needed. Set PYTHON=/path/to/python3.11." >&2
    exit 1
}
if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -qy python3-venv >&2
    else
        echo "setup: $PYTHON has no ensurepip; on Debian or Ubuntu: apt-get install python3-venv" >&2
        exit 1
    fi
fi

rm -f "$STAMP"
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
# Dependency groups need a pip newer than a distribution's.
"$VENV/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
"$VENV/bin/python" -m pip install --quiet --editable . --group dev
printf '%s\n' "$wanted" >"$STAMP"
