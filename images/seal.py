"""Runs inside the runtime image. `write`: compile the library, then note a digest over every file. `check`: compare it.

A volume that was filled from the image is used only after `check` said `whole` and that digest from inside it.
"""

import compileall
import hashlib
import py_compile
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
NOTE = ROOT / "content.sha256"


def content_sha256() -> str:
    total = hashlib.sha256()
    for path in sorted(ROOT.rglob("*")):
        if path == NOTE or not path.is_file():
            continue
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(ROOT)} {path.stat().st_mode & 0o7777:o} {content}\n".encode())
    return total.hexdigest()


def write() -> None:
    # Never checked against the sources at start-up: the volume is read-only and verified as a whole.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(ROOT / "lib", quiet=1, invalidation_mode=mode):
        sys.exit("some of the library could not be compiled")
    sys.path.append(str(ROOT / "lib"))
    from arci.guest.packing import write_packs

    write_packs(str(ROOT / "lib" / "arci" / "guest" / "__pycache__"))
    NOTE.write_text(content_sha256())


def check() -> None:
    noted, found = NOTE.read_text(), content_sha256()
    if found != noted:
        sys.exit(f"content is {found}, {noted} was noted")
    sys.stdout.write(f"whole {found}\n")


{"write": write, "check": check}[sys.argv[1]]()
