"""command.py PROGRAM FILE: the page of the command, from what its --help says."""

import re
import subprocess
import sys


def help_of(*words):
    return subprocess.run([*words, "--help"], check=True, capture_output=True, text=True).stdout.rstrip()


def main(program, file):
    main_help = help_of(program)
    names = re.findall(r"^  ([a-z]+) ", main_help.split("Subcommands:")[1].split("\n\n")[0], re.M)
    with open(file, "w", encoding="utf-8") as out:
        print(f"# The command\n\n```text\n{main_help}\n```", file=out)
        for name in names:
            print(f"\n## taquin {name}\n\n```text\n{help_of(program, name)}\n```", file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
