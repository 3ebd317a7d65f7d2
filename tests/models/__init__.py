"""Packages that call models, unmodified, each an agent in a container: how they get along, also under faults."""
