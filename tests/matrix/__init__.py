"""MCP clients that were not written for ARCI, each an agent in a container: which, and whether they get along."""
