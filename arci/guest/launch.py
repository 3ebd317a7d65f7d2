"""Starts a guest by name: `python3 -I -S <runtime>/arci/guest/launch.py NAME ARGS...`. Parsed on any Python 3."""

import gc
import os
import sys

__all__ = ["GUESTS", "main"]

# By name alone: the import of one guest must not cost the start of another.
GUESTS = {
    "recorder": "arci.boundary.recorder",
    "worker": "arci.guest.worker",
    "grader": "arci.guest.grader",
    "snapshot": "arci.guest.snapshot",
    "decide": "arci.guest.decide",
}


def main() -> int:
    if sys.version_info < (3, 9):  # an image may hold any Python
        sys.stderr.write(f"arci: this image has Python {sys.version.split()[0]}; 3.9 or newer is needed\n")
        return 70
    if len(sys.argv) < 2 or sys.argv[1] not in GUESTS:
        sys.stderr.write(f"arci: guest {sys.argv[1:2]}; one of {', '.join(GUESTS)}\n")
        return 64
    # What an import makes stays: to search it for garbage again and again is an eighth of a recorder's start. It is
    # turned on for code that is not ours, and when a recorder begins to serve.
    gc.disable()
    # At the end of the path: nothing of the user's may be shadowed by what lies beside ARCI.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from arci.guest.packs import unpack

    unpack(sys.argv[1])
    module = GUESTS[sys.argv[1]]
    __import__(module)
    code: int = sys.modules[module].main(sys.argv[2:])
    return code


if __name__ == "__main__":
    sys.exit(main())
