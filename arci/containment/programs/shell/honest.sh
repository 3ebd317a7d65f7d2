# Does the task. MCP in raw frames, one JSON object per line, through the shim that ARCI_MCP_COMMAND names.
set -eu

# request ID METHOD PARAMS: passes over whatever is said before the answer.
request() {
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$1" "$2" "$3" >&3
    while IFS= read -r answer <&4; do
        case $answer in *"\"id\":$1,"* | *"\"id\":$1}"*) return 0 ;; esac
    done
    exit 1
}

mkfifo "$ARCI_WORKDIR/requests" "$ARCI_WORKDIR/answers"
# Without quotes: it is a command and its arguments.
$ARCI_MCP_COMMAND <"$ARCI_WORKDIR/requests" >"$ARCI_WORKDIR/answers" &
exec 3>"$ARCI_WORKDIR/requests" 4<"$ARCI_WORKDIR/answers"
request 1 initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}'
printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&3
request 2 tools/call '{"name":"do","arguments":{}}'
echo done >"$ARCI_WORKDIR/report.txt"
