"""The guests' command lines: `--name VALUE` pairs. By hand, since argparse costs 6 ms in each container. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Sequence

__all__ = ["options"]


def options(argv: Sequence[str], required: Sequence[str], optional: Sequence[str] = ()) -> Dict[str, str]:
    """Name (without dashes) -> value. ValueError if one is unknown, missing or without a value."""
    values: Dict[str, str] = {}
    for position in range(0, len(argv), 2):
        name = argv[position]
        if name[:2] != "--" or name[2:] not in (*required, *optional):
            raise ValueError(f"option {name!r}: unknown")
        if position + 1 == len(argv):
            raise ValueError(f"option {name}: no value")
        values[name[2:]] = argv[position + 1]
    for name in required:
        if name not in values:
            raise ValueError(f"option --{name}: missing")
    return values
