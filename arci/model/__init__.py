"""Frozen data that the parts hand to each other. Pure. Imports nothing eagerly (guests pass through here)."""
