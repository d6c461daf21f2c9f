"""The examples in the docstrings: that they do what they show, and, with --complete, that each public name has one."""

import doctest
import importlib
import inspect
import sys

import taquin
from mpi4py import MPI


def modules():
    for name in ("_blocks", "_errors", "_exchange", "_failure", "_layout", "_options", "_plan", "_redistribution", "_sparse", "_statistics"):
        yield importlib.import_module(f"taquin.{name}")


def run():
    failed = tried = 0
    for module in modules():
        result = doctest.testmod(module)
        failed, tried = failed + result.failed, tried + result.attempted
    assert tried > 0
    return MPI.COMM_WORLD.allreduce(failed)


def incomplete():
    missing = []
    for name in taquin.__all__:
        public = getattr(taquin, name)
        if not doctest.DocTestFinder(recurse=False).find(public, name)[0].examples:
            missing.append(f"{name}: no example")
        if inspect.isclass(public):
            for member, value in vars(public).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    if not inspect.getdoc(value):
                        missing.append(f"{name}.{member}: no docstring")
    print("\n".join(missing))
    return len(missing)


sys.exit(1 if (incomplete() if "--complete" in sys.argv else run()) else 0)
