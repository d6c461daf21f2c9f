"""options.py SOURCE_DIRECTORY: the Fortran types, their conversions and constants, and the hints that taquin.h names, are
those of src/base/options.def. (The compiler compares the C and the C++ struct with it, tests/python the keywords.)"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


def text(name):
    return (root / name).read_text(encoding="utf-8")


listed = text("src/base/options.def")
rows = re.findall(r"^TAQUIN_OPTION\((\w+), [\w.]+, (\w+),", listed, re.M)
rows += re.findall(r"^TAQUIN_REDISTRIBUTION_OPTION\((\w+), (\w+),", listed, re.M)
hints = re.findall(r"^TAQUIN_OPTION\((\w+),", listed, re.M)
values = re.findall(r"^TAQUIN_OPTION_VALUE\((\w+), \w+, (\w+)\)", listed, re.M)
wrong = []


def fields(source, name):
    """Names and declarations of a derived type's components."""
    body = re.search(rf"^ *type, [\w()]+ :: {name}\n(.*?)^ *end type", source, re.M | re.S)
    if body is None:
        return []
    return [(m[2], m[1].strip()) for m in re.finditer(r"^ *([^!\n]+?) :: (\w+)", body[1], re.M)]


def compare(what, found, wanted):
    wrong.extend(f"{what} lacks {name} ({how})" for name, how in wanted if (name, how) not in found)
    wrong.extend(f"{what} has {name} ({how}), which is not wanted" for name, how in found if (name, how) not in wanted)


module = text("fortran/module.inc") + text("fortran/c_types.inc")
of_c = {"text": "type(c_ptr)", "list": "type(c_ptr)", "bytes": "integer(c_size_t)", "seconds": "real(c_double)",
        "part": "real(c_double)"}
mirror = [("size", "integer(c_size_t)")]
for name, kind in rows:
    mirror += [("node_count", "integer(c_int)")] if kind == "list" else []
    mirror.append((name, of_c.get(kind, "integer(c_int)")))
found = fields(module, "c_options")
compare("c_options", found, mirror)
if [name for name, _ in found] != [name for name, _ in mirror]:
    wrong.append("c_options has another order than TAQUIN_Options")
of_fortran = {"text": "character(len=:), allocatable", "list": "integer, allocatable", "bytes": "integer(c_size_t)",
              "seconds": "double precision", "part": "double precision", "flag": "logical"}
compare("taquin_options", fields(module, "taquin_options"),
        [(name, of_fortran.get(kind, "integer")) for name, kind in rows])

parts = re.split(r"^  subroutine ", text("fortran/options.inc"), flags=re.M)
for routine in ("taquin_comm_set_options", "taquin_comm_get_options"):
    body = "".join(part for part in parts if part.startswith(routine))
    for name, _ in rows:
        for side in ("c", "options"):
            if not re.search(rf"\b{side}%{name}\b", body):
                wrong.append(f"{routine} does not copy {side}%{name}")

next_value = {}
for option, constant in values:
    number = next_value[option] = next_value.get(option, -1) + 1
    if not re.search(rf"^ *integer, parameter, public :: {constant} = {number}$", module, re.M):
        wrong.append(f"fortran/module.inc has no {constant} = {number}")

header = text("include/taquin/taquin.h")
for name in hints:
    if not re.search(rf"\btaquin_{name}\b", header):
        wrong.append(f"taquin.h does not name the hint taquin_{name}")
for name in set(re.findall(r"\btaquin_(\w+)\b", header)) - set(hints):
    wrong.append(f"taquin.h names taquin_{name}, which is no option")

if not rows or not values:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(rows)} options")
sys.exit(1 if wrong else 0)
