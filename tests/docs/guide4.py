"""Every command of docs/guide/4-which-algorithm.md, in its order, as a reader types it: guide4.py SOURCE TAQUIN MPIRUN.

The page leaves to the reader how many ranks the program has (2 here), how long tune may take (--within) and how narrow
--until makes an interval. At the end programs run by the algorithm that tune has measured as the fastest.
"""
import json
import os
import re

import subprocess
import sys
import tempfile

source, taquin, mpirun = sys.argv[1:4]
page = open(os.path.join(source, "docs/guide/4-which-algorithm.md")).read()
commands = re.findall(r"^ {4,}((?:mpirun|taquin|TAQUIN_PROFILE=).*)$", page, re.M)
EXPECTED = ["--measure", "taquin calibrate", "taquin tune", "taquin explain -n", "--osu"]
for word in EXPECTED:
    if not any(word in c for c in commands):
        sys.exit(f"the page has no command with '{word}'")

folder = tempfile.mkdtemp(prefix="taquin-guide4-")
os.chdir(folder)

def run(command):
    """The words are the page's; launchers and the program are those of this build."""
    for named, path in (("taquin ", taquin + " "), ("mpirun ", mpirun + " ")):
        command = re.sub(rf"(^| ){named}", rf"\g<1>{path}", command)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    if "built-in model" in done.stderr:
        sys.exit(f"{command}: the profile is refused\n{done.stderr}")
    return done.stdout

for command in commands:
    typed = re.sub(r"(-n) 64\b", r"\1 2", command)
    if "taquin tune" in typed:
        typed += " --within 20"
    typed = typed.replace("--until 2%", "--until 60%")
    if "--plot" in typed and subprocess.run(["sh", "-c", "command -v gnuplot"], capture_output=True).returncode != 0:
        typed = re.sub(r" --plot \S+", "", typed)
    out = run(typed)
    print(f"{typed}: {len(out.splitlines())} lines", flush=True)


def check(environment, file):
    """Blocking exchanges of equal blocks that tune has measured: each runs by the fastest, and explain says so."""
    points = [m for m in json.load(open(file))["measured"] if m["skew"] == 0 and not m["reused"] and not m["in_place"]]
    if not points:
        sys.exit("tune has measured nothing")
    for size in sorted({m["bytes"] for m in points}):
        here = [m for m in points if m["bytes"] == size]
        fastest = min(here, key=lambda m: m["time"])["algorithm"]
        what = f"--collective {here[0]['collective']} -b {int(size)}"
        program = f"{environment}TAQUIN_PROFILE={file} mpirun -n 2 taquin"
        rows = json.loads(run(f"{program} run {what} -a auto --reps 10 --json=-"))
        ran = [r["algorithm"] for r in rows if r.get("asked") == "auto"]
        said = [r["algorithm"] for r in json.loads(run(f"{program} explain {what} --json=-")) if r["chosen"]]
        if ran != [fastest] or said != [fastest]:
            sys.exit(f"{what}: tune measured {fastest} as the fastest, explain names {said}, the program runs {ran}")
        print(f"{environment}{what}: {fastest}", flush=True)


check("", "machine.json")
# The same where the ranks are two nodes: there other algorithms win.
run("TAQUIN_NODES=1,1 mpirun -n 2 taquin tune -o nodes.json --within 20")
check("TAQUIN_NODES=1,1 ", "nodes.json")
print("followed")
