// What is worth doing: at most three things, each with its command and what it saves, measured or predicted.
import { groupBy } from "./algorithms.mjs";
import { bytes, counted, percent, seconds } from "./format.mjs";
import { imbalance } from "./traffic.mjs";

const MOST_SLOWDOWN = 2; // that is worth a second buffer
const LEAST_GAIN = 0.05; // of the time; less is not worth a change

// A name in a shell's command line.
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const baseName = (path) => path.split("/").at(-1);

// A measured gain is certain where the intervals do not meet.
const certain = (best, native) => best.high === null || native.low === null || best.high < native.low;

function fasterAlgorithms(model) {
  const things = [];
  for (const [, same] of groupBy(
    model.points.filter((p) => !p.wrong),
    (p) => JSON.stringify([p.label, p.ranks, p.bytes, p.basis]),
  )) {
    const native = same.find((p) => p.algorithm === "native");
    if (!native) continue;
    const isMeasured = (p) => p.basis === "measured" && p.label === native.label && p.ranks === native.ranks && p.bytes === native.bytes;
    if (native.basis === "predicted" && model.points.some(isMeasured)) continue; // what was measured is told instead
    const others = same.filter((p) => !p.algorithm.startsWith("native") && p.time < native.time * (1 - LEAST_GAIN));
    const best = others.filter((p) => p.basis === "predicted" || certain(p, native)).sort((a, b) => a.time - b.time)[0];
    if (!best) continue;
    const gain = native.time - best.time;
    const recording = best.recorded && model.sources.find((s) => baseName(s.name) === baseName(labelFile(best.label)));
    const what = recording ? `the recorded calls of ${baseName(recording.name)}` : `${best.label}, ${bytes(best.bytes)} per rank`;
    const pick = best.chosen === "native" ? best.algorithm : best.chosen;
    things.push({
      title: `Use ${best.algorithm === "auto" ? `taquin's choice (${best.chosen})` : best.algorithm}`,
      text: `On ${best.ranks} ranks it takes ${seconds(best.time)} for ${what}; the MPI library takes ${seconds(native.time)}.`,
      command: best.profile
        ? `TAQUIN_PROFILE=${quoted(best.file)} mpirun -n ${best.ranks} taquin wrap PROGRAM`
        : `mpirun -n ${best.ranks} taquin wrap -a ${quoted(pick)} PROGRAM`,
      saves: gain,
      part: gain / native.time,
      basis: best.basis,
      per: recording ? "each time that these calls are made" : "each exchange",
      weight: (best.basis === "measured" ? 1 : 0.5) * (gain / native.time) * (recording ? 2 : 1) * (model.sources.length === 0 || model.sources.some((s) => s.ranks === best.ranks) ? 1 : 0.5),
      topic: best.basis === "predicted" ? "predicted algorithm" : `algorithm ${pick} ${recording ? "recorded" : ""}`,
    });
  }
  return things;
}

// A case's label begins with its workload, which for a replay is the recording's path.
const labelFile = (label) => label.split(", ")[0];

function fromReport(source) {
  const things = [];
  for (const a of source.advice ?? [])
    things.push({
      title: a.title ?? "From the report of the run",
      text: a.text,
      command: a.command ?? null,
      saves: a.saves_seconds ?? null,
      part: source.totals.seconds > 0 && a.saves_seconds ? a.saves_seconds / source.totals.seconds : 0,
      basis: a.basis === "measured" ? "measured" : "predicted",
      per: "in this run",
      weight: 0.3 + (source.totals.seconds > 0 && a.saves_seconds ? a.saves_seconds / source.totals.seconds : 0),
      topic: `advice ${a.text}`,
    });
  for (const s of source.sites) {
    if (s.native && s.native.seconds < s.seconds * (1 - LEAST_GAIN))
      things.push({
        title: "Leave a call site to the MPI library",
        text: `${s.label}: ${seconds(s.seconds)}; the MPI library alone would take ${seconds(s.native.seconds)}.`,
        command: `mpirun -n ${source.ranks} taquin wrap -a native PROGRAM`,
        saves: s.seconds - s.native.seconds,
        part: 1 - s.native.seconds / s.seconds,
        basis: s.native.basis === "measured" ? "measured" : "predicted",
        per: "in this run",
        weight: (s.seconds - s.native.seconds) / Math.max(source.totals.seconds, 1e-12),
        topic: `native ${s.index}`,
      });
    if (s.waiting !== null && s.seconds > 0 && s.waiting / s.seconds > 0.3)
      things.push({
        title: "Balance the work before a call",
        text: `${s.label} spends ${percent(s.waiting / s.seconds)} of its time waiting for the last rank. No algorithm mends that.`,
        command: null,
        saves: s.waiting,
        part: s.waiting / s.seconds,
        basis: "predicted",
        per: "in this run, at most",
        weight: (0.9 * s.waiting) / Math.max(source.totals.seconds, 1e-12),
        topic: `waiting ${s.index}`,
      });
  }
  return things;
}

function fromTraffic(source, model) {
  const things = [];
  const measured = model.points.some((p) => p.recorded && baseName(labelFile(p.label)) === baseName(source.name));
  if (source.kind === "recording" && !measured)
    things.push({
      title: "Measure these calls under every algorithm",
      text: `${baseName(source.name)} can be replayed on ${source.ranks} ranks; with the records beside it, this page tells what each algorithm saves.`,
      command: `mpirun -n ${source.ranks} taquin run --traffic ${quoted(source.name)} -a all --json times.json`,
      saves: null,
      part: 0,
      basis: null,
      per: null,
      weight: 0.05,
      topic: "measure",
    });
  for (const s of source.sites) {
    const factor = Math.max(imbalance(s.sent), imbalance(s.received));
    if (factor < 1.5 || s.ranks < 3) continue;
    const what = imbalance(s.sent) >= imbalance(s.received) ? s.sent : s.received;
    const busiest = what.indexOf(Math.max(...what.slice(0, 65536)));
    things.push({
      title: "Spread the data more evenly",
      text: `${s.label}: rank ${busiest} ${what === s.sent ? "sends" : "receives"} ${factor.toFixed(1)} times the mean, and all others wait for it.`,
      command: null,
      saves: (s.seconds - (s.waiting ?? 0)) * (1 - 1 / factor),
      part: 1 - 1 / factor,
      basis: "predicted",
      per: "in this run, at most: time goes by the bytes of the busiest rank",
      weight: 0.4 * (1 - 1 / factor) * (s.seconds / Math.max(source.totals.seconds, 1e-12)),
      topic: "balance",
    });
  }
  return things;
}

function withinMemory(model) {
  const things = [];
  for (const [, same] of groupBy(
    model.points.filter((p) => p.basis === "measured" && p.memory !== null && !p.wrong && p.inPlace),
    (p) => JSON.stringify([p.label, p.ranks, p.bytes]),
  )) {
    const native = same.find((p) => p.algorithm === "native");
    const lean = same.filter((p) => p.algorithm !== "native" && p.memory < p.bytes / 4).sort((a, b) => a.time - b.time)[0];
    if (!native || !lean || !(lean.bytes > 0) || lean.time > MOST_SLOWDOWN * native.time) continue;
    things.push({
      title: `Exchange in one buffer with ${lean.algorithm}`,
      text: `It takes ${bytes(lean.memory)} beside the data instead of a second buffer of ${bytes(lean.bytes)}, in ${(lean.time / native.time).toFixed(2)} times the MPI library's time out of place.`,
      command: "taquin::alltoallv_in_place(...)  or, in C, TAQUIN_Alltoallv_in_place(...)",
      saves: null,
      savesBytes: lean.bytes - lean.memory,
      part: 0,
      basis: "measured",
      per: "on each rank",
      weight: 0.3,
      topic: "memory",
    });
  }
  return things;
}

/// The three that save most; measured ones count for more than predicted ones, and each topic comes once.
export function worthDoing(model, most = 3) {
  const all = [
    ...fasterAlgorithms(model),
    ...model.sources.flatMap((s) => [...fromReport(s), ...fromTraffic(s, model)]),
    ...withinMemory(model),
  ].sort((a, b) => b.weight - a.weight);
  const topics = new Set();
  const first = [];
  for (const thing of all) {
    if (topics.has(thing.topic)) continue;
    topics.add(thing.topic);
    first.push(thing);
  }
  return first.slice(0, most);
}

/// "saves 1.2 ms (34%) each exchange".
export function savingText(thing) {
  if (thing.savesBytes) return `saves ${bytes(thing.savesBytes)} ${thing.per}`;
  if (thing.saves === null) return "How much it saves is not known before it is measured.";
  return `saves ${seconds(thing.saves)}${thing.part > 0 ? ` (${percent(thing.part)})` : ""} ${thing.per}`;
}

/// The figures of one source: {known: [{label, value, note}], unknown: [label]}.
export function figuresOf(source) {
  const all = allFigures(source);
  return { known: all.filter((f) => f.value !== "–"), unknown: all.filter((f) => f.value === "–").map((f) => f.label.toLowerCase()) };
}

function allFigures(source) {
  const t = source.totals;
  const unknown = "";
  return [
    { label: "Ranks", value: source.ranks.toLocaleString("en-US"), note: "" },
    { label: "Nodes", value: source.nodes ? String(source.nodes) : "–", note: source.nodes ? "" : unknown },
    { label: "Calls", value: t.calls.toLocaleString("en-US"), note: source.kind === "report" ? counted(source.sites.length, "call site") : counted(source.sites.length, "kind of call", "kinds of calls") },
    { label: "Bytes exchanged", value: bytes(t.bytes), note: t.calls > 0 ? `${bytes(t.bytes / t.calls)} a call` : "" },
    {
      label: "Time in all-to-all",
      value: seconds(t.seconds),
      note: t.share !== null ? `${percent(t.share)} of the run` : "of the slowest rank, waiting included",
    },
    {
      label: "Waiting for the last rank",
      value: t.waiting !== null ? seconds(t.waiting) : "–",
      note: t.waiting !== null && t.seconds > 0 ? `${percent(t.waiting / t.seconds)} of that time` : unknown,
    },
    {
      label: "Transfer",
      value: t.waiting !== null ? seconds(Math.max(0, t.seconds - t.waiting)) : "–",
      note: t.waiting !== null ? "the rest" : unknown,
    },
    {
      label: "Extra memory",
      value: t.peak !== null ? bytes(t.peak) : "–",
      note: t.peak !== null ? (t.memoryLimit ? `of ${bytes(t.memoryLimit)} allowed` : "most on any rank") : unknown,
    },
  ];
}
