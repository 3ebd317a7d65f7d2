# MCP in raw frames, one JSON object per line, through the shim that ARCI_MCP_COMMAND names. POSIX sh; read by `.`

id=0

# request METHOD PARAMS: the answer's line is in $answer; whatever else is said in between is passed over.
request() {
    id=$((id + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$id" "$1" "$2" >&3
    while IFS= read -r answer <&4; do
        case $answer in *"\"id\":$id,"* | *"\"id\":$id}"*) return 0 ;; esac
    done
    echo "the server is gone" >&2
    exit 1
}

# call TOOL ARGUMENTS: 0 and the answer in $answer, or 1 if the tool failed.
call() {
    request tools/call "{\"name\":\"$1\",\"arguments\":$2}"
    case $answer in *'"isError":true'*) return 1 ;; esac
}

mkfifo "$ARCI_WORKDIR/requests" "$ARCI_WORKDIR/answers"
# Without quotes: it is a command and its arguments.
$ARCI_MCP_COMMAND <"$ARCI_WORKDIR/requests" >"$ARCI_WORKDIR/answers" &
exec 3>"$ARCI_WORKDIR/requests" 4<"$ARCI_WORKDIR/answers"
request initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}'
printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&3
