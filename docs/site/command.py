"""command.py PROGRAM FILE: the page of the command, from what its --help says."""

import re
import subprocess
import sys
import textwrap

WIDTH = 88  # characters that the site's column shows
COLUMN = 30  # where CLI11 puts what an option does


def fitted(line):
    """A line as wide as the column: what an option does goes on under itself, other text under its second column."""
    if len(line) <= WIDTH:
        return line
    if re.match(r" +(mpirun|taquin|TAQUIN_)", line):  # a command that goes on
        told = re.fullmatch(r"( +\S.*?) {2,}(\S.*)", line)
        if told:
            return f"{fitted(told[1])}\n      {told[2]}"
        return " \\\n".join(textwrap.wrap(line, WIDTH - 2, subsequent_indent="      ", break_on_hyphens=False,
                                           drop_whitespace=True))
    head = line[:COLUMN]
    if line[COLUMN - 1 : COLUMN] != " " or line[COLUMN : COLUMN + 1] == " ":  # not an option and what it does
        gap = re.match(r" *(\S+ {2,})?", line).end()
        head = line[:gap]
    return "\n".join(textwrap.wrap(line[len(head):], WIDTH, initial_indent=head, subsequent_indent=" " * len(head),
                                   break_long_words=False, break_on_hyphens=False))


def help_of(*words):
    said = subprocess.run([*words, "--help"], check=True, capture_output=True, text=True).stdout.rstrip()
    return "\n".join(map(fitted, said.splitlines()))


def main(program, file):
    main_help = help_of(program)
    names = re.findall(r"^  ([a-z]+) ", main_help.split("Subcommands:")[1].split("\n\n")[0], re.M)
    with open(file, "w", encoding="utf-8") as out:
        print(f"# The command\n\n```text\n{main_help}\n```", file=out)
        for name in names:
            print(f"\n## taquin {name}\n\n```text\n{help_of(program, name)}\n```", file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
