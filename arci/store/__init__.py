"""The run store: a directory per run, one writer, readable after any crash. See docs/reference/store.md."""
