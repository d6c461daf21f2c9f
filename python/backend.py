"""Builds the wheel for pip: CMake builds and installs, this packs. No network is needed:

    pip install --no-build-isolation .

The wheel holds the module, the library, the command and the library to preload, for the MPI library of the mpi4py that is
installed; CMAKE_ARGS=-DTAQUIN_MPI=... names another one. --config-settings=build-dir=DIR takes what was built in DIR.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "taquin"
VERSION = re.search(r"project\(taquin VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: All-to-all exchange and data redistribution over MPI, in the memory that you allow it
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: mpi4py>=3.1
Requires-Dist: numpy
"""


def _tag():
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def _mpi():
    """The name of the MPI library that mpi4py goes by, as in Debian's mpicxx.NAME; empty: CMake's default."""
    import mpi4py

    mpi4py.rc.initialize = False
    from mpi4py import MPI

    name = {"Open MPI": "openmpi", "MPICH": "mpich"}.get(MPI.get_vendor()[0], "")
    return name if shutil.which(f"mpicxx.{name}") else ""


def _configure(build, mpi):
    options = [f"-DTAQUIN_MPI={mpi}"] if mpi else []
    options += ["-DCMAKE_BUILD_TYPE=Release", "-DTAQUIN_DEVELOPER=OFF", "-DTAQUIN_PYTHON=ON"]
    options.append(f"-DPython3_EXECUTABLE={sys.executable}")
    try:
        import pybind11

        options.append(f"-Dpybind11_DIR={pybind11.get_cmake_dir()}")
    except ImportError:
        pass  # CMake looks for it, and says what is missing
    if shutil.which("ninja") and not (build / "CMakeCache.txt").exists():
        options += ["-G", "Ninja"]
    options += os.environ.get("CMAKE_ARGS", "").split()
    subprocess.run(["cmake", "-S", ROOT, "-B", build, *options], check=True)


def _write_info(folder):
    info = Path(folder, f"{NAME}-{VERSION}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(METADATA, encoding="utf-8")
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {_tag()}\n", encoding="utf-8"
    )
    shutil.copy(ROOT / "LICENSE", info)
    return info.name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517. Without it pip builds everything to learn the name."""
    return _write_info(metadata_directory)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    from wheel.wheelfile import WheelFile

    given = (config_settings or {}).get("build-dir")
    mpi = "" if given else _mpi()
    build = Path(given) if given else ROOT / "build" / "-".join(("wheel", _tag(), mpi)).rstrip("-")
    if not given:
        _configure(build, mpi)
    targets = ["taquin_python", "taquin_shared", "taquin_command", "taquin_interpose"]
    subprocess.run(["cmake", "--build", build, "--parallel", "--target", *targets], check=True)
    with tempfile.TemporaryDirectory() as temporary:
        installed, tree = Path(temporary, "installed"), Path(temporary, "tree")
        subprocess.run(["cmake", "--install", build, "--component", "python", "--prefix", installed], check=True)
        package = next(installed.rglob("_core*.so")).parent
        shutil.copytree(package, tree / NAME)
        shared = next(f for f in (build / "lib").glob("libtaquin.so.*") if f.is_symlink())  # the name that is loaded
        for file in (build / "bin" / NAME, shared, build / "lib" / "libtaquin_interpose.so"):
            (tree / NAME / file.parent.name).mkdir(exist_ok=True)
            shutil.copy(file.resolve(), tree / NAME / file.parent.name / file.name)
        _write_info(tree)
        wheel = f"{NAME}-{VERSION}-{_tag()}.whl"
        with WheelFile(Path(wheel_directory, wheel), "w") as packed:
            packed.write_files(tree)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    name = f"{NAME}-{VERSION}"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
    files = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(f.relative_to(ROOT)) for f in ROOT.rglob("*") if f.is_file() and f.relative_to(ROOT).parts[0] != "build"
    ]
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(Path(sdist_directory, f"{name}.tar.gz"), "w:gz") as packed:
        for file in files:
            packed.add(ROOT / file, f"{name}/{file}")
        info = Path(temporary, "PKG-INFO")
        info.write_text(METADATA, encoding="utf-8")
        packed.add(info, f"{name}/PKG-INFO")
    return f"{name}.tar.gz"
