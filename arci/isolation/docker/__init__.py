"""Guests as fresh containers of a Docker-compatible engine. Nothing above this package sees the engine's types."""
