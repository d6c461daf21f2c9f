#!/usr/bin/env python3
"""expect.py [--fails | --any-status] [--never REGEX] REGEX COMMAND…: runs COMMAND, whose output must match REGEX and must
not match --never. Its exit status must be 0; with --fails another one; --any-status is for launchers whose status says
nothing. Exit status 77 of COMMAND is passed on: the test is skipped."""
import re
import signal
import subprocess
import sys

SKIPPED = 77


def main() -> int:
    arguments = sys.argv[1:]
    status = "zero"
    never = None
    while arguments[0] in ("--never", "--fails", "--any-status"):
        option = arguments.pop(0)
        if option == "--never":
            never = arguments.pop(0)
        else:
            status = option[2:]
    expected, command = arguments[0], arguments[1:]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())  # ctest's timeout
    output = child.communicate()[0].decode(errors="replace")
    sys.stdout.write(output)
    sys.stdout.flush()
    result = child.returncode
    if result == SKIPPED:
        return SKIPPED
    wrong = []
    if (status == "zero" and result != 0) or (status == "fails" and result == 0):
        wrong.append(f"exit status {result}, where {'0' if status == 'zero' else 'an error'} was expected")
    if not re.search(expected, output, re.DOTALL):
        wrong.append(f"the output does not match: {expected}")
    if never and re.search(never, output, re.DOTALL):
        wrong.append(f"the output matches: {never}")
    for text in wrong:
        print(f"expect.py: {text}")
    return 1 if wrong else 0


sys.exit(main())
