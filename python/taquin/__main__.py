"""The command: ``python3 -m taquin list`` is ``taquin list``."""

import os
import sys

from ._build import COMMAND


def main() -> None:
    """Becomes the command, with the arguments of this program."""
    command = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), COMMAND))
    if not os.access(command, os.X_OK):
        here = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), COMMAND))
        command = here
    if not os.access(command, os.X_OK):
        sys.exit(f"the command is not at {command}: install it beside the package")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
