"""The command: ``python3 -m taquin list`` is ``taquin list``."""

import os
import sys

from ._build import COMMAND


def main() -> None:
    """Becomes the command, with the arguments of this program."""
    package = os.path.dirname(os.path.abspath(__file__))
    for place in (os.path.join("bin", "taquin"), COMMAND):  # in a wheel; where CMake installs
        command = os.path.normpath(os.path.join(package, place))
        if os.access(command, os.X_OK):
            os.execv(command, [command, *sys.argv[1:]])
    sys.exit(f"the command is not at {command}: install it beside the package")


if __name__ == "__main__":
    main()
