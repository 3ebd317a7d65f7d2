"""Agents that say what could break a page: in arguments, steps, claims, output and the ways in which they fail."""

import sys

NASTY = (
    "\u202egnp.exe\u2066\u200f\x1b[31m\x00 e\u0301\u0301\u0301"
    "</script></style></pre></code></td></table><img src=x onerror=alert(1)><svg onload=alert(2)>"
    "<script>alert(3)</script><iframe src=https://example.com></iframe><style>*{display:none}</style>"
    "<link rel=stylesheet href=https://example.com/x.css><base href=https://example.com/>\" onclick=alert(4) '"
)
LONG = "W" * 20_000
RIGHT_TO_LEFT = "\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd"


def before(task, tools, rng):
    sys.stdout.write(NASTY + "\n")
    tools.note_model_step(NASTY, fact=NASTY, long=LONG)
    tools.call("look", what=NASTY, note=RIGHT_TO_LEFT)
    tools.call("keep", value="kept")
    return {"success": NASTY}


def after(task, tools, rng):
    sys.stderr.write(NASTY + LONG + "\n")
    tools.note_model_step(NASTY, fact=NASTY, long=LONG)
    tools.call("look", what=NASTY, note=RIGHT_TO_LEFT)
    tools.call("keep", value=NASTY + LONG)
    if "table" in task["note"]:
        raise RuntimeError(NASTY + LONG)
    return {"success": NASTY}
