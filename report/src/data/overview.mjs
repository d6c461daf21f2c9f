// What is worth doing: at most three things, each with its command and what it saves, measured or predicted.
import { groupBy } from "./algorithms.mjs";
import { bytes, counted, percent, seconds } from "./format.mjs";

const MOST_SLOWDOWN = 2; // that is worth a second buffer
const LEAST_GAIN = 0.05; // of the time; less is not worth a change
const LEAST_SAVING = 2e-6; // seconds each time; less is what a call costs anyway

// A name in a shell's command line.
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const baseName = (path) => path.split("/").at(-1);

// Measured, with intervals that do not meet.
const known = (p) => p.basis === "measured" && p.low !== null && p.high !== null;
const faster = (a, b) => known(a) && known(b) && a.high < b.low && a.time < b.time * (1 - LEAST_GAIN);

// The program's call chooses as `auto` did. What `auto` chose is no name to ask for: another call, or another size, has
// another choice, and a call by name goes another way. What was measured as a plan helps a program that makes one.
const commandOf = (p) => (p.persistent ? planOf(p) : `mpirun -n ${p.ranks} taquin wrap${p.algorithm === "auto" ? "" : ` -a ${quoted(p.algorithm)}`} PROGRAM`);

function planOf(p) {
  const call = ["alltoall", "alltoallw"].includes(p.collective) ? p.collective : "alltoallv";
  const name = p.algorithm === "auto" ? "" : `, {.algorithm = ${JSON.stringify(p.algorithm)}}`;
  return `taquin::plan(taquin::exchange::${call}(...)${name})  or, in C, TAQUIN_A${call.slice(1)}_init(...)`;
}

function titleOf(p) {
  if (p.persistent) return p.algorithm === "auto" ? "Make a plan once" : `Make a plan once, with ${p.algorithm}`;
  return p.algorithm === "auto" ? "Run the program with taquin" : `Use ${p.algorithm}`;
}

// Who follows the advice does it for all sizes. Another recording is another program.
const harmsElsewhere = (best, model) =>
  model.points
    .filter((p) => known(p) && commandOf(p) === commandOf(best) && (!best.recorded || p.label === best.label))
    .some((p) => model.points.some((n) => n.algorithm === "native" && n.label === p.label && n.ranks === p.ranks && n.bytes === p.bytes && faster(n, p)));

function fasterAlgorithms(model) {
  const things = [];
  for (const [, same] of groupBy(
    model.points.filter((p) => !p.wrong && known(p)),
    (p) => JSON.stringify([p.label, p.ranks, p.bytes]),
  )) {
    const native = same.find((p) => p.algorithm === "native");
    if (!native) continue;
    const others = same.filter((p) => !p.algorithm.startsWith("native") && !p.inPlace && faster(p, native)).sort((a, b) => a.time - b.time);
    const auto = others.find((p) => p.algorithm === "auto");
    const best = auto && !others.some((p) => faster(p, auto)) ? auto : others[0];
    if (!best) continue;
    const gain = native.time - best.time;
    if (gain < LEAST_SAVING || harmsElsewhere(best, model)) continue;
    const recording = best.recorded && model.sources.find((s) => baseName(s.name) === baseName(labelFile(best.label)));
    const what = best.recorded ? `the recorded calls of ${baseName(labelFile(best.label))}` : `${best.label}, ${bytes(best.bytes)} per rank`;
    things.push({
      title: titleOf(best),
      text: `On ${best.ranks} ranks it takes ${seconds(best.time)} for ${what}; the MPI library takes ${seconds(native.time)}.`,
      what,
      command: commandOf(best),
      saves: gain,
      part: gain / native.time,
      basis: "measured",
      per: best.recorded ? "each time that these calls are made" : "each exchange",
      weight: (gain / native.time) * (recording ? 2 : 1) * (model.sources.length === 0 || model.sources.some((s) => s.ranks === best.ranks) ? 1 : 0.5),
    });
  }
  return things;
}

// A case's label begins with its workload, which for a replay is the recording's path.
const labelFile = (label) => label.split(", ")[0];

// What the run itself measured or estimated from what it measured, in the terminal's words.
function fromReport(source) {
  return (source.advice ?? [])
    .filter((a) => a.basis === "measured" || a.basis === "estimated")
    .map((a) => ({
      title: a.title ?? "From the report of the run",
      text: `${a.text}.`.replace(/\.\.$/, "."),
      command: a.command ?? null,
      saves: a.saves_seconds ?? null,
      part: source.totals.seconds > 0 && a.saves_seconds ? a.saves_seconds / source.totals.seconds : 0,
      basis: a.basis,
      per: "in this run",
      weight: 0.3 + (source.totals.seconds > 0 && a.saves_seconds ? a.saves_seconds / source.totals.seconds : 0),
      topic: `advice ${a.text}`,
    }));
}

function fromTraffic(source, model) {
  const things = [];
  const measured = model.points.some((p) => p.recorded && baseName(labelFile(p.label)) === baseName(source.name));
  if (source.kind === "recording" && !measured)
    things.push({
      title: `Measure the calls of ${baseName(source.name)} under every algorithm`,
      text: `${baseName(source.name)} can be replayed on ${source.ranks} ranks; with the records beside it, this page tells what each algorithm saves.`,
      command: `mpirun -n ${source.ranks} taquin run --traffic ${quoted(source.name)} -a all --json times.json`,
      saves: null,
      part: 0,
      basis: null,
      per: null,
      weight: 0.05,
      topic: "measure",
    });
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

/// The three that save most; each command and each topic comes once, and tells what else it is for.
export function worthDoing(model, most = 3) {
  const all = [
    ...fasterAlgorithms(model),
    ...model.sources.flatMap((s) => [...fromReport(s), ...fromTraffic(s, model)]),
    ...withinMemory(model),
  ].sort((a, b) => b.weight - a.weight);
  const topics = new Map();
  const first = [];
  for (const thing of all) {
    const topic = thing.command ?? thing.topic;
    const before = topics.get(topic);
    if (before) {
      if (thing.what) before.also.push(thing.what);
      continue;
    }
    const one = { ...thing, also: [] };
    topics.set(topic, one);
    first.push(one);
  }
  const titles = first.slice(0, most).map((t) => t.title);
  for (const t of first.slice(0, most))
    if (titles.filter((title) => title === t.title).length > 1) t.title += `: ${t.text.split(/ waits | is faster |, /)[0]}`;
  return first.slice(0, most).map((t) => (t.also.length ? { ...t, text: `${t.text} Also faster: ${t.also.slice(0, 4).join("; ")}${t.also.length > 4 ? ` and ${t.also.length - 4} more` : ""}.` } : t));
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

/// Why the MPI library did a site's calls; a lost trial with both times.
export function reasonsOf(site) {
  return site.fallbacks.map((f) => {
    const times = f.library_seconds > 0 ? ` (${seconds(f.library_seconds)} by the MPI library, ${seconds(f.taquin_seconds)} by taquin)` : "";
    return `${f.calls.toLocaleString("en-US")}: ${f.reason}${times}`;
  });
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
      value: t.seconds !== null ? seconds(t.seconds) : "–",
      note: t.seconds === null ? "" : t.share !== null ? `${percent(t.share)} of the run` : "of the slowest rank, waiting included",
    },
    {
      label: "Waiting for the last rank",
      value: t.waiting !== null ? seconds(t.waiting) : "–",
      note: t.waiting !== null && t.seconds > 0 ? `${percent(t.waiting / t.seconds)} of that time${t.estimate ?? ""}` : unknown,
    },
    {
      label: "Transfer",
      value: t.waiting !== null ? seconds(Math.max(0, t.seconds - t.waiting)) : "–",
      note: t.waiting !== null ? "the rest" : unknown,
    },
    {
      label: "Scratch memory",
      value: t.peak !== null ? bytes(t.peak) : "–",
      note: t.peak !== null ? (t.memoryLimit ? `of ${bytes(t.memoryLimit)} allowed` : "most on any rank") : unknown,
    },
  ];
}
