#!/usr/bin/env python3
"""tables.py NAME [ARGUMENT]: a Markdown table from the committed records in results/, for the pages of docs/results.

`record FILE…` is how the records were measured, from results/records.json, which describes every record. --check: each
record is described there, with everything that a reader needs to judge it."""
import json
import pathlib
import statistics
import sys

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results"
NEEDED = ("commit", "date", "machine", "mpi", "command", "samples", "interval")


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def records(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def described(name, seen=()):
    """What results/records.json says of a record; `like` takes over another's description."""
    own = records("records.json")[name]
    if "like" not in own or name in seen:
        return own
    return {**described(own["like"], (*seen, name)), **{k: v for k, v in own.items() if k != "like"}}


def size(n):
    for unit, limit in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= limit and n % limit == 0:
            return f"{n // limit} {unit}"
    return f"{n:g} B"


def duration(seconds):
    us = seconds * 1e6
    if us < 10:
        return f"{us:.2f}\u00a0µs"
    if us < 1e3:
        return f"{us:.{1 if us < 100 else 0}f}\u00a0µs"
    if us >= 1e6:
        return f"{us / 1e6:.2f}\u00a0s"
    return f"{us / 1e3:.{2 if us < 1e4 else 1 if us < 1e5 else 0}f}\u00a0ms"


def measured(r):
    """Relative to the MPI library, then the median and its interval."""
    low, high = (duration(x).split()[0] for x in r["ci95_s"])
    ends = (duration(r["ci95_s"][0]).split()[1], duration(r["ci95_s"][1]).split()[1])
    unit = duration(r["median_s"]).split()[1]
    interval = f"[{low}, {high}]" if ends == (unit, unit) else f"[{duration(r['ci95_s'][0])}, {duration(r['ci95_s'][1])}]"
    return f"{r['ratio_to_native']:.2f} ({duration(r['median_s'])} {interval})"


def record(*names):
    first = described(names[0])
    rows = [(k, f"`{first[k]}`" if k in ("command", "commit") else str(first[k])) for k in NEEDED]
    rows[0:0] = [("records", ", ".join(f"[{n}](../../results/{n})" for n in names))]
    for n in names:
        if "note" in described(n):
            rows.append((f"note on `{n}`", described(n)["note"]))
    table(("measured", ""), rows)


NODE_KINDS = {"random": "random sizes", "equal": "equal sizes", "sparse": "to two others", "zipf": "Zipf's law",
              "shared": "random sizes, shared buffers", "plans": "plans, random sizes"}


def node_cell(r):
    if r is None:
        return ""
    return measured(r) if r["ci95_s"] else f"{r['ratio_to_native']:.2f} ({duration(r['median_s'])})"


def node(kind):
    """Calls or plans on one node: a row for each size, a column for each number of ranks."""
    rows = [r for r in records("node/node.json") if r["kind"] == kind]
    cells = {(r["bytes_per_pair"], r["ranks"]): r for r in rows}
    ranks = sorted({r["ranks"] for r in rows})
    table(("bytes per pair", *(f"p = {p}" for p in ranks)),
          [(size(b), *(node_cell(cells.get((b, p))) for p in ranks)) for b in sorted({r["bytes_per_pair"] for r in rows})])


def few_calls():
    """Communicators of a few calls: the median ratio of runs, and the smallest and largest."""
    runs = {}
    for line in (RESULTS / "node/few-calls.txt").read_text(encoding="utf-8").splitlines():
        ranks, calls, library, own = line.split()
        runs.setdefault((int(ranks), int(calls)), []).append((float(library) / 1e6, float(own) / 1e6))
    rows = []
    for (ranks, calls), times in sorted(runs.items()):
        ratios = [own / library for library, own in times]
        library, own = (statistics.median(one) for one in zip(*times))
        rows.append((str(ranks), str(calls), duration(library), duration(own),
                     f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"))
    table(("ranks", "calls", "MPI library", "taquin", "relative to the MPI library"), rows)


def node_mpich():
    """All kinds side by side, for 2 ranks."""
    rows = records("node/mpich.json")
    cells = {(r["bytes_per_pair"], r["kind"]): r for r in rows}
    table(("bytes per pair", *NODE_KINDS.values()),
          [(size(b), *(node_cell(cells.get((b, k))) for k in NODE_KINDS)) for b in sorted({r["bytes_per_pair"] for r in rows})])


def in_place(experiment):
    """An experiment of bench/in_place: a row for each x, a column for each variant."""
    heads = {"memory": "scratch memory, % of the data", "size": "bytes of a rank", "parts": "parts", "sparse": "peers",
             "shares": "ranks", "blocks": "ranks"}
    all_records = records(f"in-place/{experiment}.json")
    variants = list(dict.fromkeys(r["variant"] for r in all_records if r["variant"] not in ("native", "local_copy_efficient")))
    keys = list(dict.fromkeys((r["x"], r["workload"]) for r in all_records))
    several = len({w for _, w in keys}) > 1 and experiment != "sparse"
    rows = []
    for x, workload in keys:
        here = {r["variant"]: r for r in all_records if (r["x"], r["workload"]) == (x, workload)}
        name = size(x) if experiment == "size" else f"{x:g}"
        cells = [measured(here[v]) if v in here else "" for v in variants]
        rows.append(([name, workload] if several else [name]) + [duration(here["native"]["median_s"]), *cells])
    table([heads[experiment], *(["workload"] if several else []), "MPI library", *variants], rows)


def in_place_scale(traffic):
    """Counts of the simulation: rounds, messages, bytes copied, memory of the busiest rank."""
    all_records = [r for r in records("in-place/scale.json") if r["traffic"] == traffic.replace("_", " ")]
    table(("algorithm", "ranks", "rounds", "messages", "bytes copied", "bytes of memory"),
          [(r["variant"], str(r["ranks"]), str(r["rounds"]), str(r["messages"]), str(r["bytes_copied"]), str(r["memory"]))
           for r in all_records])


def bruck_rows(kind):
    for line in (RESULTS / "bruck/bruck.txt").read_text(encoding="utf-8").splitlines():
        what, variant, ranks, x, *times = line.split()
        if what == kind:
            yield variant, int(ranks), int(x), tuple(float(t) for t in times)


def bruck(kind):
    """Microseconds of each variant by ranks and bytes per block: the median and its interval."""
    rows = list(bruck_rows(kind))
    variants = list(dict.fromkeys(r[0] for r in rows))
    keys = sorted({(r[1], r[2]) for r in rows})
    cells = {(r[1], r[2], r[0]): r[3] for r in rows}

    def show(t):
        if t is None:
            return ""
        digits = 0 if t[0] >= 100 else 1
        return f"{t[0]:.{digits}f} [{t[1]:.{digits}f}, {t[2]:.{digits}f}]"

    table(("ranks", "bytes per block", *variants),
          [(str(p), str(n), *(show(cells.get((p, n, v))) for v in variants)) for p, n in keys])


def irregular():
    """Blocks of different sizes among 8 ranks: each algorithm beside the MPI library, blocking and as a plan."""
    rows = records("bruck/irregular.json")
    names = list(dict.fromkeys(r["algorithm"] for r in rows if r["algorithm"] != "native"))
    cells = {(r["persistent"], r["bytes_per_rank"], r["algorithm"]): r for r in rows}
    table(("call", "mean block", "MPI library", *(f"`{n}`" for n in names)),
          [("plan" if plan else "blocking", size(b // 8), duration(cells[plan, b, "native"]["median_s"]),
            *(measured(cells[plan, b, n]) for n in names)) for plan, b in dict.fromkeys(k[:2] for k in cells)])


def redistribution(experiment):
    """An experiment of Siegel & Siegel: time, bytes copied and rounds of each algorithm."""
    heads = {"vanishing_space": "free blocks, %"}
    all_records = records(f"redistribution/{experiment}.json")
    names = ["slots", "cyclic", "parking", "basic_phases"]
    rows = []
    for x in dict.fromkeys(r["x"] for r in all_records):
        here = {r["algorithm"]: r for r in all_records if r["x"] == x}
        cells = [f"{measured(here[n])}, {here[n]['bytes_copied'] / 1e6:.0f} MB, {here[n]['rounds']}" if n in here else "over the limit"
                 for n in names]
        rows.append((f"{x:g}", duration(here["native"]["median_s"]), *cells))
    table((heads.get(experiment, "ranks"), "MPI library", *names), rows)


def migrating():
    """Migrations beside copies to and from a second array."""
    rows = []
    for r in records("redistribution/migrating.json"):
        low, high = r["ratio_ci95"]
        limit = f"{r['memory_percent']:g}%" if r["memory_percent"] else "default"
        data = r["elements"] * r["element_bytes"]
        rows.append((str(r["ranks"]), f"{r['elements']:,} of {r['element_bytes']} B", limit, "on" if r["once"] else "off",
                     duration(r["copies_median_s"]), f"{r['ratio']:.2f} [{low:.2f}, {high:.2f}]",
                     f"{100 * r['peak_memory'] / data:.1f}%"))
    table(("ranks", "elements of a rank", "memory", "`once`", "by copies", "`migrate`, relative to copies", "peak, of the data"), rows)


def columns():
    """Migrations of eight arrays beside copies."""
    rows = []
    for r in records("redistribution/columns.json"):
        low, high = r["ratio_ci95"]
        rows.append((str(r["ranks"]), f"{r['items']:,}", duration(r["copies_median_s"]), f"{r['ratio']:.2f} [{low:.2f}, {high:.2f}]",
                     *(f"{100 * r[k] / r['data_bytes']:.1f}%" for k in ("extra_bytes", "copies_extra_bytes"))))
    table(("ranks", "items of a rank", "by copies", "`migrate`, relative to copies", "resident beyond the arrays, of the data", "by copies"), rows)


def fftw(work):
    """Transposes and transforms beside FFTW's over MPI."""
    rows = []
    for r in records("layouts/fftw.json"):
        if r["work"] != work:
            continue
        low, high = r["ratio_ci95"]
        rows.append((str(r["ranks"]), " × ".join(map(str, r["extents"])), duration(r["fftw_median_s"]), duration(r["median_s"]),
                     f"{r['ratio']:.2f} [{low:.2f}, {high:.2f}]",
                     *(f"{100 * r[k] / r['array_bytes']:.1f}%" for k in ("extra_bytes", "fftw_extra_bytes"))))
    table(("ranks", "complex numbers", "FFTW", "taquin", "relative to FFTW", "resident beyond the arrays, of one", "FFTW"), rows)


def scalapack():
    """pdgemr2d of libtaquin_scalapack beside ScaLAPACK's."""
    rows = []
    for line in (RESULTS / "layouts/scalapack.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        ranks, order, block, source, target, ours, theirs, ratio, extra, their_extra, local = line.split()
        rows.append((ranks, f"{order}²", block, f"{source} to {target}".replace("x", "×"), duration(float(theirs) / 1e3),
                     duration(float(ours) / 1e3), ratio, *(f"{100 * int(e) / int(local):.1f}%" for e in (extra, their_extra))))
    table(("ranks", "doubles", "block", "grids", "ScaLAPACK", "taquin", "relative to ScaLAPACK", "resident beyond the arrays, of the local matrix",
           "ScaLAPACK"), rows)


def scalapack_programs():
    """Programs on ScaLAPACK without and with libtaquin_scalapack: their results and peak memory."""
    runs = {}
    for line in (RESULTS / "layouts/programs.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            program, ranks, by, *values = line.split()
            runs.setdefault((program, ranks), {})[by] = values
    rows = [(program, ranks, r["plain"][0], r["taquin"][0], *(f"{int(r[by][1]) / 1024:.1f} MiB" for by in ("plain", "taquin")))
            for (program, ranks), r in runs.items()]
    table(("program", "ranks", "result", "with taquin", "peak memory of a process", "with taquin"), rows)


def many_ranks():
    """Layouts on 100000 ranks, on paper."""
    rows = []
    for r in records("layouts/many_ranks.json"):
        answer = f"predicted: {duration(r['formula_s'])}" if "formula_s" in r else (
            f"{r['bytes_moved'] / 1e9:.0f} of {r['bytes'] / 1e9:.0f} GB change ranks, relabelled {r['bytes_moved_relabelled'] / 1e9:.0f} GB")
        rows.append((f"`{r['command']}`", answer, duration(r["seconds"]), f"{r['resident_bytes'] / 2**20:.0f} MiB"))
    table(("command", "answer", "its time", "its memory"), rows)


def nodes(distribution, workload="regular"):
    """Simulated plans: the fastest selector of an MPI library, and the fastest algorithm of taquin."""
    groups = {}
    for r in records("nodes/scale.json"):
        if r["distribution"] == distribution and r["workload"] == workload:
            groups.setdefault((r["platform"], r["nodes"], r["ranks"], r["bytes_per_pair"]), []).append(r)
    rows = []
    for (platform, n, ranks, size_), group in sorted(groups.items()):
        done = [r for r in group if r["seconds"] is not None]
        native = [r for r in done if r["algorithm"] == "native"]
        ours = [r for r in done if r["algorithm"] != "native"]
        if not native or not ours:
            continue
        best, own = (min(x, key=lambda r: r["seconds"]) for x in (native, ours))
        missing = sorted({r["selector"] for r in group if r["seconds"] is None and r["selector"]})
        rows.append((platform, f"{n} nodes, {ranks} ranks", size(size_),
                     f"{duration(best['seconds'])} ({best['selector']})" + (f"; not simulated: {', '.join(missing)}" if missing else ""),
                     f"{duration(own['seconds'])} (`{own['algorithm']}`)", f"{own['seconds'] / best['seconds']:.2f}"))
    table(("network", "machine", "bytes per pair", "MPI library", "taquin", "relative to the MPI library"), rows)


def hosts():
    """Exchanges between hosts with shaped links, beside the bound of the busiest link: it sends n·(p − n) blocks."""
    rows = records("nodes/hosts.json")
    cells = {(r["ranks_of_hosts"], r["ports"], r["algorithm"]): r for r in rows}
    lines = []
    for spec, ports in dict.fromkeys(k[:2] for k in cells):
        of_hosts = [int(n) for n in spec.split(",")]
        native = cells[spec, ports, "native"]
        bound = max(n * (sum(of_hosts) - n) for n in of_hosts) * native["per_pair_bytes"] * 8 / 50e6
        lines.append((spec, str(ports), duration(bound), duration(native["median_s"]),
                      *(measured(cells[spec, ports, a]) for a in ("hierarchical_factor", "spread_out"))))
    table(("ranks of the hosts", "ports", "busiest link", "MPI library", "`hierarchical_factor`", "`spread_out`"), lines)


def program_runs(name):
    for line in (RESULTS / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            left = line.split()
            peak = next((f.removeprefix("peak=") for f in left if f.startswith("peak=")), None)
            yield left[0], int(left[1]), left[2], [float(f) for f in left[3:] if "=" not in f], peak


def middle(values, unit="s", digits=2):
    if not values:
        return ""
    return f"{statistics.median(values):.{digits}f} {unit} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def programs(name, share="0.1"):
    """Whole programs: medians over runs in which other processes used less than SHARE of the cores."""
    groups = {}
    for program, ranks, by, times, peak in program_runs(name):
        if times[1] <= float(share):
            groups.setdefault((program, ranks, by), []).append((times, peak))
    rows = []
    for (program, ranks, by), runs in groups.items():
        columns = [middle([t[i] for t, _ in runs if len(t) > i], digits=3 if i > 2 else 2) for i in (0, 2, 3, 4)]
        peaks = middle([float(p) / 1024 for _, p in runs if p], "MiB", 1)
        rows.append((program, str(ranks), by, str(len(runs)), *columns, *([peaks] if name.endswith("memory.txt") else [])))
    table(("program", "ranks", "by", "runs", "mpirun", "`MPI_Init` to `MPI_Finalize`", "in all-to-all calls", "of these waiting",
           *(["peak memory of a process"] if name.endswith("memory.txt") else [])), rows)


def particles():
    rows = []
    for line in (RESULTS / "particles/particles.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        n, mib, own_s, own_mib, mpi_s, mpi_mib = line.split()
        rows.append((f"{int(n):,}", f"{mib} MiB", f"{own_mib} MiB, {own_s} s", f"{mpi_mib} MiB, {mpi_s} s",
                     f"{float(own_s) / float(mpi_s):.2f}"))
    table(("particles of a rank", "their size", "taquin: peak memory, time", "`MPI_Alltoallv`", "time relative to the MPI library"), rows)


def predicted_ranks():
    """Up to a million ranks: the algorithms that are the fastest somewhere, and the MPI library's call as modelled."""
    rows = records("models/ranks.json")
    few = {r["ranks"]: r["nodes"] for r in rows if r["ranks"] in (64, 1024, 4096, 65536, 1 << 20)}
    fastest = {min((r for r in rows if r["ranks"] == p and r["formula_s"]), key=lambda r: r["formula_s"])["algorithm"] for p in few}
    names = [r["algorithm"] for r in rows if r["ranks"] == 1 << 20 and (r["algorithm"] in fastest or r["algorithm"] in ("spread_out", "two_phase", "zero_copy_bruck"))]
    times = {(r["ranks"], r["algorithm"]): r["formula_s"] for r in rows}
    table(("ranks", *(f"`{n}`" for n in names)),
          [(f"{p:,}", *(duration(times[p, n]) if times.get((p, n)) else "" for n in names)) for p in sorted(few)])


def predicted_two_phase():
    rows = records("models/two_phase.json")
    names = list(dict.fromkeys(r["algorithm"] for r in rows))
    table(("workload", *(f"`{n}`" for n in names), "rounds that begin together"),
          [(f"`{w}`", *(duration(r["schedule_s"] or r["formula_s"]) for n in names for r in rows if (r["workload"], r["algorithm"]) == (w, n)),
            *(duration(r["formula_s"]) for r in rows if (r["workload"], r["algorithm"]) == (w, "pairwise")))
           for w in dict.fromkeys(r["workload"] for r in rows)])


def predicted_sparse():
    rows = records("models/sparse.json")
    names = list(dict.fromkeys(r["algorithm"] for r in rows))
    keys = list(dict.fromkeys((r["peers"], r["per_pair"]) for r in rows))
    cells = {(r["peers"], r["per_pair"], r["algorithm"]): r["schedule_s"] for r in rows}
    table(("peers", "block", *(f"`{n}`" for n in names)),
          [(str(k), size(b), *(duration(cells[k, b, n]) if cells.get((k, b, n)) else "" for n in names)) for k, b in keys])


def limits(name):
    """What the machine allows, and the share of it that MPI_Alltoall reaches."""
    rows = records(f"limits/{name}.json")

    def show(r, way):
        low, high = (duration(x) for x in r[f"{way}_ci95_s"])
        return f"{duration(r[f'{way}_s'])} [{low}, {high}]" if low != high else duration(r[f"{way}_s"])

    ways = {"line": "line to another core", "copy": "copy in shared memory", "read": "copy out of another process", "message": "message",
            "mpi": "MPI library", "taquin": "taquin", "shared_buffers": "taquin, shared buffers"}
    here = [w for w in ways if f"{w}_s" in rows[0]]
    table(("bytes per pair", *(ways[w] for w in here), "limit", "taquin's share", "with shared buffers"),
          [(size(r["bytes_per_pair"]), *(show(r, w) for w in here), duration(r["limit_s"]), f"{r['share_of_limit']:.2f}",
            f"{r['share_with_shared_buffers']:.2f}") for r in rows])


def check():
    wrong = []
    known = records("records.json")
    for path in sorted(RESULTS.rglob("*")):
        name = str(path.relative_to(RESULTS))
        if path.suffix not in (".json", ".txt") or name == "records.json":
            continue
        if name not in known:
            wrong.append(f"results/{name} is not described in results/records.json")
        else:
            wrong += [f"results/records.json: {name} has no {k}" for k in NEEDED if not str(described(name).get(k, ""))]
    wrong += [f"results/records.json: there is no {n}" for n in known if not (RESULTS / n).is_file()]
    if wrong:
        sys.exit("\n".join(wrong))


MADE = {"record": record, "node": node, "node_mpich": node_mpich, "few_calls": few_calls, "in_place": in_place,
        "in_place_scale": in_place_scale, "bruck": bruck, "irregular": irregular, "redistribution": redistribution, "migrating": migrating, "columns": columns,
        "fftw": fftw, "scalapack": scalapack, "scalapack_programs": scalapack_programs, "many_ranks": many_ranks, "limits": limits,
        "nodes": nodes, "hosts": hosts, "programs": programs, "particles": particles,
        "predicted_ranks": predicted_ranks, "predicted_two_phase": predicted_two_phase, "predicted_sparse": predicted_sparse,
        "--check": check}

if __name__ == "__main__":
    MADE[sys.argv[1]](*sys.argv[2:])
