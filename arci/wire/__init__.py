"""Frames: newline framing, strict JSON, JSON-RPC 2.0, the hello line. Sans-io, standard library only, Python 3.9."""
