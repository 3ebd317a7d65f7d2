"""The back end without an engine: guests are local processes in private directories. It isolates nothing."""
