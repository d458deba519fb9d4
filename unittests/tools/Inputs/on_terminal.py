"""Runs a command on a terminal, and prints what it printed and its status."""

import os
import pty
import sys

output = b""


def read(terminal):
    global output
    data = os.read(terminal, 4096)
    output += data
    return data


sys.stdout.flush()
status = pty.spawn(sys.argv[1:], read)
print(f"status {os.waitstatus_to_exitcode(status)}")
