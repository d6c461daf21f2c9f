"""fortran_reference.py SOURCE: the Fortran reference begins with procedures, and has every public name once."""
import pathlib
import re
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "docs/site"))
import reference  # noqa: E402

folder = pathlib.Path(tempfile.mkdtemp(prefix="taquin-fortran-"))
reference.fortran_page(source, folder)
page = (folder / "fortran.md").read_text(encoding="utf-8")
headings = re.findall(r"^## (.*)$", page, re.M)
if headings != ["Procedures", "Types", "Constants"]:
    sys.exit(f"the page's parts are {headings}")
module = (source / "fortran/module.inc").read_text(encoding="utf-8").replace("&\n", "")
constants = [name for line in module.splitlines() if re.search(r"parameter, public ::", line)
             for name in re.findall(r"(TAQUIN_\w+) *=", line)]
for name in constants:
    if page.count(f"`{name}`") != 1 or re.search(rf"^#+ .*{name}\b", page, re.M):
        sys.exit(f"{name} is not in the table of constants once")
print(f"{len(constants)} constants in a table")
