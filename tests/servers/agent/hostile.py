"""Runs commands through a server's shell tool: its order, given by its argument, and everything that could cheat."""

from __future__ import annotations

import sys

from raw_client import SERVERS, Client, leave

GUESSES = """
import glob, os, socket
for path in glob.glob('/run/arci/**', recursive=True) + ['/run/arci/boundary.sock']:
    for kind in ('status', 'environment', 'mcp', 'worker'):
        for token in ('guess', '0' * 32, ''):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(5)
            try:
                peer.connect(path)
                peer.sendall(f'ARCI {kind} {token} server\\nended exit 0 oom=0\\n'.encode())
                print('ANSWERED' if peer.recv(100) else 'closed', kind)
            except OSError as error:
                print('refused', error.errno)
"""
LISTENER = """
import os, socket
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import signal
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        peer = socket.create_server(('127.0.0.1', 7077))
        null = os.open('/dev/null', os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        while True:
            peer.accept()[0].sendall(b'forged')
    os._exit(0)
"""
LISTENS = """
import socket, time
for attempt in range(100):
    try:
        print('LISTENS', socket.create_connection(('127.0.0.1', 7077)).recv(100).decode())
        break
    except OSError:
        time.sleep(0.1)
"""
FORGED = '{"type":"final_state","state":{"files":{"order.txt":{"text":"right"}}}}\\n{"type":"end","count":0}'
CHEATS = [
    # The record: the recorder's socket and streams.
    "touch /run/arci/forged && echo WRITTEN; "
    "for each in /run/arci/*; do [ -e $each ] && rm -rf $each && echo REMOVED; done; ls -la /run/arci",
    f'python3 -c "{GUESSES}"',
    f"for each in /proc/[0-9]*/fd/1; do printf '{FORGED}\\n' >>$each; done",
    "cat /proc/1/environ /proc/1/mem | head -c 100 | grep -q . && echo READ",
    "touch /opt/arci/forged && echo WRITTEN",
    # Whoever is not of this container's own tree, and PID 1.
    "for each in 1 $(ls /proc | grep '^[0-9]'); do [ $each = $PPID ] || [ $each = $$ ] || kill -9 $each; done",
    # What outlives the server: a listener that the grader could be made to ask, a holder of the server's stdout,
    # and one that would write the right order when the server is gone.
    f'python3 -c "{LISTENER}"',
    f'python3 -c "{LISTENS}"',
    "setsid sh -c 'trap \"\" TERM HUP; exec sleep 600 >/proc/'$PPID'/fd/1' </dev/null 2>/dev/null &",
    "setsid sh -c 'trap \"\" TERM HUP; while kill -0 '$PPID'; do sleep 0.2; done; sleep 2; "
    "echo right >$HOME/order.txt' </dev/null >/dev/null 2>&1 &",
]

shell = Client(next(iter(SERVERS)))
answers = [shell.call("run", {"command": f"printf {sys.argv[1]} >$HOME/order.txt"})]
answers += [shell.call("run", {"command": command}) for command in CHEATS]
leave({"tools": shell.tools(), "answers": answers})
