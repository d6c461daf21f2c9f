# A recipe for Spack: goes into a repository of packages as packages/taquin/package.py, and is built from a checkout:
#   spack dev-build --source-path CHECKOUT taquin@0.1.0
from spack.package import *


class Taquin(CMakePackage):
    """All-to-all exchange and data redistribution over MPI, in the memory that you allow it."""

    license("Apache-2.0")
    version("0.1.0")

    variant("tools", default=True, description="The command, the library to preload, machine profiles")
    variant("fortran", default=True, description="The Fortran modules")
    variant("hwloc", default=True, description="Packages and caches inside nodes")
    variant("python", default=False, description="The Python package")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi")
    depends_on("fmt")
    depends_on("hwloc", when="+hwloc")
    depends_on("cli11", when="+tools")
    depends_on("elfutils", when="+tools")
    depends_on("nlohmann-json", when="+tools")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-pybind11@2.10:", type="build", when="+python")
    depends_on("py-mpi4py", type=("build", "run"), when="+python")
    depends_on("py-numpy", type=("build", "run"), when="+python")

    conflicts("+python", when="~tools", msg="python -m taquin is the command")

    def cmake_args(self):
        return [
            self.define("TAQUIN_DEVELOPER", False),
            self.define_from_variant("TAQUIN_TOOLS", "tools"),
            self.define_from_variant("TAQUIN_FORTRAN", "fortran"),
            self.define_from_variant("TAQUIN_PYTHON", "python"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_hwloc", self.spec.satisfies("~hwloc")),
        ]
