#!/bin/sh
# The retry experiment, agent A against agent B, in containers. Its verdict is BLOCK, which `arci run` tells with exit
# code 1: this script succeeds for that verdict and for no other.
set -u

ARCI=${ARCI:-.venv/bin/arci}
code=0
"$ARCI" run examples/retry_agent/a-vs-b.yaml --isolation docker --force --out build/demo "$@" || code=$?
case $code in
1) echo "demo: BLOCK, as it must be: B dropped the retry around reserve and fails where A succeeds." ;;
0) echo "demo: unexpected PASS; the verdict of A vs B must be BLOCK." >&2 && exit 1 ;;
*) echo "demo: no verdict BLOCK but exit code $code; see above." >&2 && exit "$code" ;;
esac
