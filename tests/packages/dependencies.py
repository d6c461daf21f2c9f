"""dependencies.py TREE: the recipes ask for what CMake looks for, no more and no less, and name CMake's version."""

import pathlib
import re
import sys

# What CMake calls it: in Spack, conda and Debian. None: comes with the compiler, or is the tests' alone.
NAMES = {
    "MPI": ("mpi", "{{ mpi }}", "libopenmpi-dev"),
    "fmt": ("fmt", "fmt", "libfmt-dev"),
    "hwloc": ("hwloc", "libhwloc", "libhwloc-dev"),
    "libdw": ("elfutils", "elfutils", "libdw-dev"),
    "CLI11": ("cli11", "cli11", "libcli11-dev"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json", "nlohmann-json3-dev"),
    "Python3": ("python", "python", "python3-dev"),
    "pybind11": ("py-pybind11", "pybind11", "pybind11-dev"),
    "mpi4py": ("py-mpi4py", "mpi4py", "python3-mpi4py"),
    "numpy": ("py-numpy", "numpy", "python3-numpy"),
    "Threads": None,
    "GTest": None,
}
# What find_library and find_path look for.
FILES = {"TAQUIN_HWLOC": "hwloc", "TAQUIN_HWLOC_INCLUDE": "hwloc", "TAQUIN_LIBDW_INCLUDE": "libdw",
         "TAQUIN_MPI_ABI_INCLUDE": "MPI", "TAQUIN_MPI_ABI_LIBRARY": "MPI"}
# Compilers, build tools, and what packaging itself needs.
TOOLS = [
    {"cxx", "c", "fortran", "cmake"},
    set(),
    {"cmake", "debhelper-compat", "dh-python", "gfortran", "libmpich-dev", "mpich", "ninja-build",
     "openmpi-bin", "pkg-config"},
]


def looked_for(tree):
    found = {"mpi4py", "numpy"}  # by Python, not by find_package
    for file in [tree / "CMakeLists.txt", *(tree / "cmake").glob("*"),
                 *(p for folder in ("src", "cli", "workloads", "interpose", "fortran", "python")
                   for p in (tree / folder).glob("CMakeLists.txt"))]:
        text = re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
        found |= set(re.findall(r"find_(?:package|dependency)\((\w+)", text)) - {"taquin"}
        found |= {FILES.get(name, name) for name in re.findall(r"find_(?:library|path)\((\w+)", text)}
    if not (tree / "python").is_dir():
        found |= {"Python3", "pybind11"}
    return found


def main(tree):
    wrong = []
    names = looked_for(tree)
    wrong += [f"CMake looks for {name}, which this test does not know" for name in sorted(names - set(NAMES))]
    spack = (tree / "packaging/spack/package.py").read_text(encoding="utf-8")
    conda = (tree / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    control = (tree / "packaging/debian/control").read_text(encoding="utf-8")
    asked = [
        set(re.findall(r'depends_on\("([\w-]+)', spack)),
        set(re.findall(r"^    - (.*)$", conda.split("  host:")[1].split("  run:")[0], re.M)),
        set(re.findall(r"^(?:Build-Depends:)? +([\w-]+)", control.split("Build-Depends-Indep")[0]
                       .split("Build-Depends:")[1].replace("cmake", " cmake", 1), re.M)),
    ]
    for which, (recipe, has) in enumerate(zip(("Spack", "conda", "Debian"), asked)):
        needs = {NAMES[name][which] for name in names if NAMES.get(name)}
        wrong += [f"{recipe}: {name} is missing" for name in sorted(needs - has)]
        wrong += [f"{recipe}: {name} is not needed" for name in sorted(has - needs - TOOLS[which])]
    version = re.search(r"project\(taquin VERSION ([0-9.]+)", (tree / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    if re.findall(r'version\("([0-9.]+)"', spack) != [version]:
        wrong.append(f"Spack: the version is not {version}")
    soname = ".".join(version.split(".")[: 2 if version.startswith("0.") else 1])
    for package in re.findall(r"^Package: libtaquin-\w+?([0-9.]+)$", control, re.M):
        if package != soname:
            wrong.append(f"Debian: a library package is for soname {package}, not {soname}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
