"""What a rank alone knows differs on one rank, at each time, for every form; processes that the job spawns are merged with it;
and calls in which one rank does harm."""
import pytest
from driver import MPI, PROGRAMS, counts, job, says

# Each thing, and after how many calls it begins to differ: at the first, while both ways are tried, and later.
ALWAYS = ("runtime", "device", "space", "types", "addresses", "permissions")
LATER = ("descriptors", "files", "environment", "ahead")
THINGS = {**dict.fromkeys(ALWAYS, (0, 10, 45)), **dict.fromkeys(LATER, (10, 45)), "threads": (0,)}
if MPI == "mpich":  # other MPI libraries refuse them in nonblocking calls
    THINGS["null_types"] = (0, 10, 45)
if MPI == "openmpi":  # Debian's MPICH 4.0 does not spawn, with a name server neither
    THINGS |= dict.fromkeys(("spawned", "spawned_otherwise", "spawned_without"), (10, 45))


RANKS = 2 if MPI == "mpich" else 3  # MPICH's ranks wait for the processor of others


def differs(run, thing, call, **settings):
    assert run(job(RANKS, "unlike", thing, str(call), PROGRAMS["device_runtime_CUDA"], **settings)) == ""


@pytest.mark.parametrize("thing, call", [(thing, call) for thing, calls in THINGS.items() for call in calls])
def test_a_rank_differs(run, thing, call):
    differs(run, thing, call)


@pytest.mark.parametrize("thing", THINGS)
def test_a_rank_differs_between_nodes(run, thing):
    """Of little address space the first calls take most."""
    differs(run, thing, 0 if thing == "space" else THINGS[thing][-1], TAQUIN_NODES="1,1" if RANKS == 2 else "2,1")


def test_a_rank_differs_in_space_alone_on_its_node(run):
    assert run(job(3, "unlike", "space", "0", TAQUIN_NODES="1,1,1")) == ""


def lacks_memory(run, ranks, *kind, **settings):
    """A rank without memory for a request of taquin's, in each call, at each request."""
    says(run(job(ranks, "lack_of_memory", *kind, TAQUIN_COMMUNICATOR_LIMIT=20000, **settings)),
         "lack of memory: [1-9][0-9]* requests failed")


FEW = [2] if MPI == "mpich" else counts(2, 3)
KINDS = ("blocking", "merged", "neighbours", "starts", "persistent")  # merged: communicators may hold other jobs


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "persistent" or MPI != "abi"])
@pytest.mark.parametrize("ranks", FEW)
def test_a_rank_lacks_memory(run, ranks, kind):
    lacks_memory(run, ranks, kind)


@pytest.mark.parametrize("kind", ("blocking", "neighbours", "starts", "persistent"))
def test_a_rank_lacks_memory_between_nodes(run, kind):
    lacks_memory(run, 2, kind, TAQUIN_NODES="1,1")


@pytest.mark.parametrize("settings", [{}, {"TAQUIN_REPORT": "full:/dev/null", "TAQUIN_RECORD": "recording"}],
                         ids=["serving", "observing"])
def test_a_rank_lacks_memory_in_init(run, settings):
    """At the n-th request and all that follow, until there is no n-th one. Where it lacks memory no rank is served."""
    for request in range(200):
        told = run(job(2, "lack_of_memory", "init", str(request), **settings))
        if "MPI_Init: no request failed" in told:
            break
        says(told, "taquin stands aside|without the preloaded library")
    assert 5 < request < 199


# On a node, between nodes, and by messages. A call that waits for 10 s fails.
HARMS = {"on_a_node": (2, 60, {}), "on_nodes_of_one": (2, 60, {"TAQUIN_NODES": "1,1"})}
if MPI == "openmpi":
    HARMS |= {"by_four_on_a_node": (4, 40, {}), "on_nodes": (4, 40, {"TAQUIN_NODES": "2,2"}),
              "by_messages": (3, 20, {"TAQUIN_SHARED_MEMORY": 0})}
else:
    HARMS["by_messages"] = (3, 15, {"TAQUIN_SHARED_MEMORY": 0})


@pytest.mark.parametrize("where", HARMS)
def test_one_rank_does_harm(run, where):
    ranks, problems, settings = HARMS[where]
    says(run(job(ranks, "hostile", "0", str(problems), TAQUIN_TIMEOUT="10,fail", TAQUIN_COMMUNICATOR_LIMIT=20000, **settings)),
         f"hostile: {problems} problems, 0 failures")


def test_a_request_is_completed_while_attributes_are_deleted(run):
    says(run(job(2, "at_end", TAQUIN_PERSISTENT="always")), "completed\n\\Z")
