"""Descriptor -> sealed manifest -> schedule. Imports nothing eagerly: the schedule needs no YAML, no pydantic."""
