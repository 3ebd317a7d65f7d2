"""ARCI: did this change make the agent less reliable?

Imports nothing: guests start through this package, and every import here would be paid for in each container.
"""

__version__ = "0.1.0"
