// What a program exchanged: recordings, and reports of preloaded runs, in one form.
import { bytes } from "./format.mjs";

/// Sum of finite numbers.
export const sum = (values) => {
  let all = 0;
  for (const v of values ?? []) all += v;
  return all;
};

/// Largest over mean: 1 where all are alike. 0 for no data.
export function imbalance(values) {
  if (!values?.length) return 0;
  const mean = sum(values) / values.length;
  let most = 0;
  for (const v of values) most = Math.max(most, v);
  return mean > 0 ? most / mean : 0;
}

/// One value is so far above the usual ones that it would flatten a linear plot; all are above 0.
export function spreadWide(values, times = 20) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length > 2 && sorted[0] > 0 && sorted.at(-1) > times * sorted[Math.floor(sorted.length / 2)];
}

/// Not all pairs of ranks exchange the same at a site: its heat map tells something.
export const pairsDiffer = (source, site) => site.matrices.some(([matrix]) => source.matrices[matrix].uniform === undefined);

/// The site to begin with: the one that the first advice is about; else of those whose pairs differ, else of all, the
/// one with most bytes.
export function tellingSite(source) {
  const advised = source.advice?.find((a) => source.sites[a.site] !== undefined);
  if (advised) return source.sites[advised.site];
  const differ = source.sites.filter((s) => pairsDiffer(source, s));
  return (differ.length ? differ : source.sites).reduce((best, s) => (s.bytes > (best?.bytes ?? -1) ? s : best), undefined);
}

/// Names that several things have get what tells these apart, from the first of `more` that does; at last a number.
export function toldApart(items, more) {
  const repeated = () => {
    const times = new Map();
    for (const i of items) times.set(i.label, (times.get(i.label) ?? 0) + 1);
    return items.filter((i) => times.get(i.label) > 1);
  };
  for (const what of more) for (const i of repeated()) i.label += `, ${what(i)}`;
  repeated().forEach((i, n) => (i.label += ` (${n + 1})`));
  return items;
}

const FORMS = { alltoall: "Alltoall", alltoallv: "Alltoallv", alltoallw: "Alltoallw", sparse: "Sparse exchange", sparse_init: "Sparse exchange in two steps" };

function communicatorName(communicator, index, world) {
  if (communicator.ranks === world) return index === 0 ? "world" : `all ranks (communicator ${index})`;
  return `communicator ${index} of ${communicator.ranks} ranks from rank ${communicator.first}`;
}

const SITE_DETAILS = [
  (s) => s.communicator ?? `${s.ranks} ranks`,
  (s) => `${bytes(s.calls > 0 ? s.bytes / s.calls : 0)} a call`,
];

/// A recording as the command embeds it.
export function prepareTraffic(data, name) {
  const communicators = data.communicators.map((c, i) => ({ ...c, label: communicatorName(c, i, data.ranks) }));
  const sites = data.sites.map((s, i) => {
    const form = FORMS[s.kind] ?? s.kind;
    const communicator = communicators[s.communicator];
    return {
      index: i,
      label: `${form}${s.in_place ? " in place" : ""}, ${communicator.label}`,
      form: s.kind,
      ranks: communicator.ranks,
      calls: s.calls,
      bytes: s.bytes,
      seconds: s.seconds,
      waiting: s.waiting ?? null,
      sent: s.sent,
      received: s.received,
      arrival: null,
      sizes: s.sizes.map(([from, blocks, held]) => ({ from, to: from === 0 ? 0 : 2 * from, blocks, bytes: held })),
      matrices: s.matrices,
      algorithms: [],
      fallbacks: [],
      peak: null,
      evolution: [],
    };
  });
  let at = 0;
  const calls = data.calls.map(([site, matrix, repeats, min, mean, max, bytes, waiting], index) => {
    const call = { index, at, site, matrix, repeats, min, mean, max, bytes, waiting: waiting ?? null };
    at += repeats;
    sites[site].evolution.push(call);
    return call;
  });
  return {
    kind: "recording",
    name,
    program: data.program,
    ranks: data.ranks,
    nodes: data.per_node > 0 ? Math.ceil(data.ranks / data.per_node) : null,
    group: data.group,
    matrices: data.matrices,
    sites: toldApart(sites, SITE_DETAILS),
    calls,
    callsLeftOut: data.entries - data.calls.length,
    totals: totals(sites, null, null, data.totals),
  };
}

const place = (s) =>
  !s.file && s.address
    ? s.address
    : s.function || s.file
    ? `${s.function ?? "?"}${s.file ? ` (${s.file}${s.line ? `:${s.line}` : ""})` : ""}`
    : "unknown call site";

/// A report of a preloaded run: docs/internals/file-formats.md.
export function prepareReport(data, name) {
  const sites = data.sites.map((s, i) => ({
    index: i,
    label: `${FORMS[s.form] ?? s.form} at ${place(s)}`,
    form: s.form,
    ranks: s.communicator?.ranks ?? data.ranks,
    communicator: s.communicator ? `${s.communicator.ranks} ranks from rank ${s.communicator.world_ranks?.[0] ?? 0}` : null,
    calls: s.calls,
    bytes: s.bytes,
    seconds: s.seconds,
    waiting: s.waiting_seconds ?? null,
    sent: s.sent ?? [],
    received: s.received ?? [],
    arrival: s.arrival ?? null,
    sizes: (s.sizes ?? []).map(([from, blocks]) => ({
      from,
      to: from === 0 ? 0 : 2 * from,
      blocks,
      bytes: from === 0 ? 0 : from * 1.5 * blocks,
    })),
    matrices: s.flows ? [[i, 1]] : [],
    algorithms: s.algorithms ?? [],
    fallbacks: s.fallbacks ?? [],
    peak: s.peak_memory ?? null,
    destinations: s.destinations ?? null,
    sources: s.sources ?? null,
    native: s.native ?? null,
    evolution: (s.evolution ?? []).map(([call, bytes, seconds, waiting]) => ({
      at: call,
      index: call,
      repeats: 1,
      bytes,
      mean: seconds,
      min: seconds,
      max: seconds,
      waiting: waiting ?? null,
    })),
  }));
  return {
    kind: "report",
    name,
    program: data.program ?? "",
    trace: data.trace ?? null,
    ranks: data.ranks,
    nodes: data.nodes ?? null,
    group: 1,
    matrices: data.sites.map((s) => ({
      ranks: s.communicator?.ranks ?? data.ranks,
      flows: (s.flows ?? []).flat(),
    })),
    oversubscribed: Boolean(data.oversubscribed),
    sites: toldApart(sites, SITE_DETAILS),
    calls: [],
    callsLeftOut: 0,
    advice: data.advice ?? [],
    leftToMpi: Object.entries(data.left_to_mpi ?? {}).map(([reason, calls]) => ({ reason, calls })),
    totals: totals(sites, data.seconds ?? null, data.memory_limit ?? null, data.totals),
  };
}

// What is added to a figure that was not measured in every call.
const estimated = (told) => (told?.basis === "estimated" ? `, estimated from ${told.calls} of ${told.of} calls` : "");

// Call sites of different ranks run side by side: the time of all is that of the rank with the most, as the file tells it.
// Files that do not tell have call sites on all ranks, or no total.
function totals(sites, runSeconds, memoryLimit, told) {
  const all = Math.max(0, ...sites.map((s) => s.ranks));
  const together = sites.every((s) => s.ranks === all);
  const seconds = told?.seconds ?? (together ? sum(sites.map((s) => s.seconds)) : null);
  const waits = sites.filter((s) => s.waiting !== null);
  const peaks = sites.filter((s) => s.peak !== null).map((s) => s.peak);
  return {
    calls: sum(sites.map((s) => s.calls)),
    bytes: sum(sites.map((s) => s.bytes)),
    seconds,
    runSeconds,
    share: runSeconds > 0 && seconds !== null ? seconds / runSeconds : null,
    estimate: estimated(told?.waiting_basis),
    waiting: told ? told.waiting_seconds ?? null : together && waits.length ? sum(waits.map((s) => s.waiting)) : null,
    peak: peaks.length ? Math.max(...peaks) : null,
    memoryLimit,
  };
}

/// Cells across a matrix of `ranks` ranks in groups.
export const across = (ranks, group) => Math.ceil(ranks / group);

function addInto(cells, matrix, n, group, times) {
  if (matrix.uniform !== undefined) {
    for (let i = 0; i < n * n; ++i) cells[i] += matrix.uniform * times;
  } else if (matrix.cells) {
    for (let i = 0; i < n * n; ++i) cells[i] += matrix.cells[i] * times;
  } else {
    for (let i = 0; i < matrix.flows.length; i += 3)
      cells[Math.floor(matrix.flows[i] / group) * n + Math.floor(matrix.flows[i + 1] / group)] +=
        matrix.flows[i + 2] * times;
  }
}

/// Bytes from each group of ranks to each, as {n, group, ranks, cells}. `which`: [[matrix, times]].
export function addUp(source, which) {
  if (!which.length) return null;
  const { ranks } = source.matrices[which[0][0]];
  const n = across(ranks, source.group);
  const cells = new Float64Array(n * n);
  for (const [index, times] of which) addInto(cells, source.matrices[index], n, source.group, times);
  return { n, group: source.group, ranks, cells };
}

/// The cells [r0, r1) × [c0, c1) of a matrix, added up so that at most `most` are across; {rows, cols, step, values}.
export function cut(matrix, [r0, r1], [c0, c1], most = 256) {
  const step = Math.max(1, Math.ceil(Math.max(r1 - r0, c1 - c0) / most));
  const rows = Math.ceil((r1 - r0) / step);
  const cols = Math.ceil((c1 - c0) / step);
  const values = new Float64Array(rows * cols);
  for (let r = r0; r < r1; ++r) {
    const row = Math.floor((r - r0) / step) * cols;
    for (let c = c0; c < c1; ++c) values[row + Math.floor((c - c0) / step)] += matrix.cells[r * matrix.n + c];
  }
  return { rows, cols, step, values };
}
