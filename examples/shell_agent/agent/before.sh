# Deploys the wanted version where another one runs. The three attempts are written out.
set -eu
. ./mcp.sh

version=$(sed 's/.*"version" *: *"\([^"]*\)".*/\1/' "$ARCI_TASK_FILE")
call get_version '{"service":"web"}'
case $answer in *"\"result\":\"$version\""*) exit 0 ;; esac
wanted="{\"service\":\"web\",\"version\":\"$version\"}"
call deploy "$wanted" || call deploy "$wanted" || call deploy "$wanted"
