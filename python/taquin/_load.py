"""Before the extension is loaded: whether mpi4py goes by the MPI library that taquin was built with."""

from ._build import MPI as BUILT_WITH


def check_mpi() -> None:
    """Raises ImportError when it does not: handles of one MPI library mean nothing to another."""
    try:
        from mpi4py import MPI
    except ImportError as missing:
        raise ImportError(f"taquin needs mpi4py (Debian: python3-mpi4py): {missing}") from missing
    loaded = MPI.get_vendor()[0]
    if loaded != BUILT_WITH:
        raise ImportError(
            f"taquin was built with {BUILT_WITH}, but mpi4py was built with {loaded}: install the mpi4py of "
            f"{BUILT_WITH}, or build taquin with {loaded} (cmake -D TAQUIN_MPI=...)"
        )
