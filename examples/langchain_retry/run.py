"""Serves the scripted model while `arci run arci.yaml` runs; arguments and exit code are those of `arci run`."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from model_server import PORT, model_server

try:
    server = model_server()
except OSError as error:
    sys.exit(f"127.0.0.1:{PORT}: {error.strerror}. Another port stands in model_server.py and in arci.yaml.")
with server:
    Thread(target=server.serve_forever, daemon=True).start()
    descriptor = Path(__file__).with_name("arci.yaml")
    program = [sys.executable, "-m", "arci"] if find_spec("arci") else ["arci"]
    code = subprocess.call([*program, "run", str(descriptor), *sys.argv[1:]])
    server.shutdown()
sys.exit(code)
