"""All-to-all exchange and redistribution over MPI, in the memory that you allow.

The calls take mpi4py's communicators, datatypes and descriptions of buffers. Every exchange is collective and accepts
``memory=``, the bytes of scratch memory per rank that it may use. When that is too little (:class:`BudgetExceeded`), or
an argument of any rank is invalid (:class:`UsageError`), every rank has the error, before data are received
(``docs/guide/8-hangs.md``). Other threads run while a call waits. The arrays of counts and displacements, 8 bytes for
each rank, do not count in the memory. """

from ._load import check_mpi as _check_mpi

_check_mpi()

from . import adapters as adapters
from ._blocks import Blocks, allocate
from ._build import VERSION as __version__
from ._errors import BudgetExceeded, Error, PeerAborted, PeerFailed, TimedOut, UsageError
from ._exchange import alltoall, alltoallv, alltoallv_in_place, alltoallw
from ._layout import Dimension, Layout, elements_moved, redistribute_layout
from ._layout_plan import LayoutPlan, plan_layout
from ._failure import BlockMap, Part, State, failure_blocks
from ._migrate import migrate
from ._options import Options
from ._plan import Plan, plan
from ._redistribute_nd import redistribute_nd, transpose
from ._redistribution import Redistribution
from ._sparse import SparseBlocks, sparse_exchange, sparse_exchange_arrays
from ._statistics import Statistics

__all__ = [
    "BlockMap",
    "Blocks",
    "BudgetExceeded",
    "Dimension",
    "Error",
    "Layout",
    "LayoutPlan",
    "Options",
    "Part",
    "PeerAborted",
    "PeerFailed",
    "Plan",
    "Redistribution",
    "SparseBlocks",
    "State",
    "Statistics",
    "TimedOut",
    "UsageError",
    "allocate",
    "alltoall",
    "alltoallv",
    "alltoallv_in_place",
    "alltoallw",
    "elements_moved",
    "failure_blocks",
    "migrate",
    "plan",
    "plan_layout",
    "redistribute_layout",
    "redistribute_nd",
    "sparse_exchange",
    "sparse_exchange_arrays",
    "transpose",
]
