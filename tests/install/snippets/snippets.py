"""snippets.py SOURCE WORK PREFIX: takes the code out of README, guide, internals, the site's first page and the headers'
comments, builds it against what is installed under PREFIX, and runs it. Compilers, launcher and the Python that has mpi4py:
environment variables CC, CXX, FC, MPIEXEC, PYTHON. Names that a snippet does not define are in context.hpp and context.py."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE, WORK, PREFIX = (Path(a).resolve() for a in sys.argv[1:4])
FENCE = re.compile(r"^```(cpp|c|fortran|python|cmake)\n(.*?)^```$", re.M | re.S)
# taquin is on the paths that lead to the installation, and nowhere else.
LIBRARIES = next(PREFIX.rglob("libtaquin.so")).parent
PACKAGES = next(iter(PREFIX.rglob("taquin/_core*.so")), None)


class Snippet:
    def __init__(self, file, line, language, code):
        self.place = f"{file.relative_to(SOURCE)}:{line}"
        self.file, self.line, self.language, self.code = file, line, language, code


def of_markdown(file):
    text = file.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        yield Snippet(file, text[: block.start(2)].count("\n") + 1, block[1], block[2])


def of_header(file):
    """Lines of a comment that are indented by four."""
    lines, first = [], 0
    for number, line in enumerate([*file.read_text(encoding="utf-8").splitlines(), ""], 1):
        code = re.match(r"\s*///     (.*)", line)
        if code:
            first = first if lines else number
            lines.append(code[1] + "\n")
        elif lines:
            yield Snippet(file, first, "cpp", "".join(lines))
            lines = []


def all_snippets():
    documents = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
    found = [s for file in documents for s in of_markdown(file)]
    return found + [s for file in sorted((SOURCE / "include/taquin").glob("*.hpp")) for s in of_header(file)]


def run(*command, what, **environment):
    ended = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=300,
                           env={**os.environ, **environment}, cwd=WORK)
    if ended.returncode != 0:
        sys.exit(f"{what} fails: {shlex.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def pkg_config(name):
    return shlex.split(run("pkg-config", "--cflags", "--libs", name, what="pkg-config",
                           PKG_CONFIG_PATH=str(LIBRARIES / "pkgconfig")))


def launch(*command, what, **environment):
    run(*shlex.split(os.environ["MPIEXEC"]), "2", *command, what=what, LD_LIBRARY_PATH=str(LIBRARIES), **environment)


def whole_programs(snippets, language, compiler, package, suffix):
    """Builds and runs those that are programs; the others."""
    rest = []
    for s in snippets:
        if not re.search(r"^int main|^(end )?program", s.code, re.M):
            rest.append(s)
            continue
        source, program = WORK / f"{language}_{s.line}{suffix}", WORK / f"{language}_{s.line}"
        source.write_text(s.code, encoding="utf-8")
        run(*compiler, source, *pkg_config(package), "-o", program, what=s.place)
        launch(program, what=s.place)
    return rest


def cpp(snippets):
    """All parts in one program, each a function that has the context's names."""
    parts = []
    for i, s in enumerate(snippets):
        body = re.sub(r"^#include.*$", "", s.code, flags=re.M)
        parts.append(f"struct snippet_{i} : names {{\n  void run() {{\n#line {s.line} \"{s.place}\"\n{body}  }}\n}};\n")
    calls = "".join(f"  snippet_{i}().run();\n" for i in range(len(parts)))
    source = WORK / "snippets.cpp"
    source.write_text('#include "context.hpp"\n\n' + "\n".join(parts) +
                      f"\nint main(int argc, char** argv) {{\n  MPI_Init(&argc, &argv);\n{calls}  MPI_Finalize();\n}}\n",
                      encoding="utf-8")
    run(*CXX, f"-I{HERE}", source, *pkg_config("taquin"), "-o", WORK / "snippets", what="the C++ snippets")
    launch(WORK / "snippets", what="the C++ snippets")


def python(snippets):
    """The parts of a page are one program."""
    if PACKAGES is None:
        return
    interpreter = os.environ.get("PYTHON", sys.executable)
    path = os.pathsep.join([str(PACKAGES.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    for file in dict.fromkeys(s.file for s in snippets):
        program = WORK / f"{file.stem}.py"
        program.write_text((HERE / "context.py").read_text(encoding="utf-8") +
                           "\n".join(s.code for s in snippets if s.file == file), encoding="utf-8")
        launch(interpreter, program, what=str(file), PYTHONPATH=path)
    launch(interpreter, SOURCE / "tests/python/docstrings.py", what="the examples in Python's docstrings",
           PYTHONPATH=path)


def cmake(snippets):
    """Each in a project of its own, with an executable `program`; taquin's own source is not built once more."""
    for s in snippets:
        folder = WORK / f"cmake_{s.file.stem}_{s.line}"
        folder.mkdir()
        fetched = "FetchContent" in s.code
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(snippet LANGUAGES C CXX)\n"
            f"add_executable(program {SOURCE}/examples/quick_start.cpp)\n" +
            s.code.replace("path/to/taquin", str(SOURCE)), encoding="utf-8")
        mpi = [f"-DTAQUIN_MPI={os.environ['TAQUIN_MPI']}"] if os.environ.get("TAQUIN_MPI") else []
        run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={PREFIX}",
            f"-DCMAKE_CXX_COMPILER={CXX[0]}", *mpi, what=s.place)
        if not fetched:
            run("cmake", "--build", folder / "build", what=s.place)
            launch(folder / "build/program", what=s.place)


CXX = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20"]
CC = [*shlex.split(os.environ.get("CC", "cc")), "-std=c99"]
FC = shlex.split(os.environ.get("FC", "")) if os.environ.get("FC") else None


def main():
    by_language = {}
    for s in all_snippets():
        by_language.setdefault(s.language, []).append(s)
    print({language: [s.place for s in found] for language, found in by_language.items()})
    cpp(whole_programs(by_language["cpp"], "cpp", CXX, "taquin", ".cpp"))
    for language, compiler, package, suffix in (("c", CC, "taquin", ".c"), ("fortran", FC, "taquin-fortran", ".f90")):
        if compiler is None:
            continue
        rest = whole_programs(by_language.get(language, []), language, compiler, package, suffix)
        if rest:
            sys.exit(f"{rest[0].place}: only whole programs of {language} can be tried")
    python(by_language["python"])
    cmake(by_language["cmake"])


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    main()
