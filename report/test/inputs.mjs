// Inputs of the tests, the same in every run: small ones of each kind, a recording of many ranks, and damaged ones.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Between 0 and 1.
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const call = (matrix, kind, repeats, seconds, communicator = 0) => ({
  communicator,
  matrix,
  kind,
  element_bytes: 1,
  in_place: false,
  repeats,
  seconds: { min: seconds, mean: seconds * 1.2, max: seconds * 2 },
});

/// A recording of a few ranks: two kinds of calls, two communicators.
export function smallTraffic() {
  const random = numbers(1);
  const rows = Array.from({ length: 8 }, (_, i) =>
    Array.from({ length: 8 }, (_, j) => (i === j ? 0 : Math.floor(random() * 4096 * (1 + i)))),
  );
  return {
    taquin_traffic: 1,
    program: "solver input.dat",
    ranks: 8,
    communicators: [{ world_ranks: [0, 1, 2, 3, 4, 5, 6, 7] }, { world_ranks: [0, 1, 2, 3] }],
    matrices: [
      { ranks: 8, rows },
      { ranks: 8, uniform: 64 },
      { ranks: 4, flows: [[0, 1, 1024], [2, 3, 65536]] },
    ],
    calls: [call(0, "alltoallv", 3, 1e-3), call(1, "alltoall", 10, 5e-5), call(0, "alltoallv", 1, 2e-3), call(2, "alltoallv", 2, 1e-4, 1)],
  };
}

/// A recording of `ranks` ranks: a band around the diagonal, and a weak background.
export function largeTraffic(ranks) {
  const random = numbers(2);
  const rows = Array.from({ length: ranks }, (_, i) =>
    Array.from({ length: ranks }, (_, j) => {
      const distance = Math.min(Math.abs(i - j), ranks - Math.abs(i - j));
      return distance < 24 ? Math.floor(100000 / (1 + distance)) : Math.floor(random() * 64);
    }),
  );
  return {
    taquin_traffic: 1,
    program: "large",
    ranks,
    communicators: [{ world_ranks: Array.from({ length: ranks }, (_, i) => i) }],
    matrices: [{ ranks, rows }],
    calls: [call(0, "alltoallv", 20, 4e-3)],
  };
}

const SPEEDS = { native: [1e-5, 1e-9], pairwise: [1.4e-5, 0.8e-9], spread_out: [1.2e-5, 0.9e-9], zero_copy_bruck: [0.5e-5, 3e-9] };

/// Records of `taquin run`: times on straight lines.
export function records() {
  const list = [];
  for (const bytes of [64, 1024, 16384, 262144])
    for (const [algorithm, [latency, each]] of Object.entries(SPEEDS)) {
      const time = latency + each * bytes;
      list.push({
        algorithm,
        requested: algorithm,
        workload: "uniform",
        collective: "alltoallv",
        ranks: 8,
        in_place: false,
        persistent: false,
        bytes_per_rank: bytes,
        memory_limit: algorithm === "native" ? null : 65536,
        peak_memory: algorithm === "zero_copy_bruck" ? bytes / 2 : algorithm === "native" ? 0 : 2048,
        median_s: time,
        ci95_s: [time * 0.97, time * 1.04],
        ratio_to_native: time / (SPEEDS.native[0] + SPEEDS.native[1] * bytes),
        rounds: 3,
        messages: 7,
        bytes_sent: bytes,
        bytes_copied: 0,
        wrong_bytes: 0,
        repetitions: 50,
      });
    }
  list.push({ algorithm: "in_place", ranks: 8, workload: "uniform", collective: "alltoallv", median_s: null, reason: "needs one buffer" });
  return list;
}

export function predictions() {
  return [2, 8, 32, 128, 512].flatMap((ranks) =>
    Object.entries(SPEEDS).map(([algorithm, [latency, each]]) => ({
      algorithm,
      workload: "uniform",
      collective: "alltoallv",
      ranks,
      bytes_per_rank: 16384,
      formula_s: latency * (algorithm.includes("bruck") ? Math.log2(ranks) : ranks - 1) + each * 16384,
      schedule_s: null,
    })),
  );
}

export function redistributions() {
  return ["native", "slots", "parking"].map((algorithm, i) => ({
    algorithm,
    requested: algorithm,
    workload: "random",
    collective: "redistribute",
    ranks: 4,
    in_place: true,
    bytes_per_rank: 1 << 20,
    memory_limit: null,
    peak_memory: i * 100000,
    median_s: 1e-3 * (i + 1),
    ci95_s: [0.9e-3 * (i + 1), 1.1e-3 * (i + 1)],
    ratio_to_native: i + 1,
    rounds: 10,
    messages: 20,
    bytes_sent: 1 << 20,
    bytes_copied: i * 500000,
    wrong_bytes: 0,
    blocks: 64,
    block_bytes: 16384,
    free_blocks: 4,
  }));
}

const SCRIPT = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>";

/// Of random calls: one slower than the MPI library, one in place, one that could not be measured.
export function regrets() {
  const one = { algorithm: "shared_memory", asked: "auto", rival: "native", against: "native", use: "call", workload: "random", collective: "alltoallv", in_place: false, memory_limit: null, wrong_bytes: 0 };
  const call = (ranks, bytes, ratio, family) => ({
    ...one,
    ranks,
    family,
    bytes_per_rank: bytes,
    cell: `use=call form=alltoallv workload=random bytes=${bytes}`,
    command: `mpirun -n ${ranks} bench_regret --cell "use=call form=alltoallv workload=random bytes=${bytes}"`,
    regret: ratio - 1,
    ratio_to_rival: ratio,
    ratio_ci95: [ratio * 0.97, ratio * 1.03],
    median_s: 1e-6 * ratio,
    rival_s: 1e-6,
  });
  const { regret, ratio_to_rival, ratio_ci95, median_s, rival_s, ...refused } = call(4, 7, 1, "calls");
  return [call(2, 8, 0.4, "calls"), call(2, 65536, 1.2, "calls"), call(4, 1024, 0.8, "calls"), call(4, 1048576, 1.05, "in_place"), { ...refused, reason: "more memory" }];
}

/// Damaged inputs by file name: text, and what the command says of it; none: it is shown.
export function damaged() {
  const hostile = smallTraffic();
  hostile.program = `${SCRIPT}</script>${SCRIPT}`;
  const absurd = records();
  absurd[0].median_s = -1;
  const huge = JSON.stringify(records()).replace('"ranks":8', '"ranks":1e300');
  return {
    "empty.json": ["", "empty file"],
    "cut.json": [JSON.stringify(smallTraffic()).slice(0, 300), "damaged"],
    "version.json": [JSON.stringify({ ...smallTraffic(), taquin_traffic: 99 }), "version 99"],
    "kind.json": [JSON.stringify({ hello: SCRIPT }), "nothing that taquin writes"],
    "negative.json": [JSON.stringify(absurd), "median_s is -1"],
    "absurd.json": [huge, "ranks is 1e+300"],
    "deep.json": ["[".repeat(100000), "levels of nesting"],
    "bytes.json": [Buffer.from([0xff, 0xfe, 0x00, 0x7b]), "damaged"],
    "plan.json": [JSON.stringify({ taquin_plan: 1, algorithm: "x", ranks: 2, rounds: [{ messages: [[0, 7, 1]] }] }), "not within 0 and 1"],
    "hostile.json": [JSON.stringify(hostile), null],
    "records.json": [JSON.stringify(records().map((r) => ({ ...r, workload: `uniform ${SCRIPT}` }))), null],
  };
}

export function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  return Object.entries(files).map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
    return path;
  });
}
