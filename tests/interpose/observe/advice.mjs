// Runs whose truth is known (report_of.cpp), as the terminal and the page show them: what is advised, and that every
// figure is the same in both. node --test, with REPORT_OF and TAQUIN_PROGRAM the two commands, PAGE_SOURCES the page's
// folder src/data, and MPIRUN that of the MPI library.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const { REPORT_OF, TAQUIN_PROGRAM, PAGE_SOURCES, MPIRUN } = process.env;
const { collect } = await import(join(PAGE_SOURCES, "model.mjs"));
const { figuresOf, reasonsOf, worthDoing } = await import(join(PAGE_SOURCES, "overview.mjs"));
const { bytes, seconds } = await import(join(PAGE_SOURCES, "format.mjs"));
const folder = mkdtempSync(join(tmpdir(), "taquin-advice-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function run(command, args, env = {}) {
  const done = spawnSync(command, args, { encoding: "utf8", timeout: 100000, env: { ...process.env, ...env } });
  assert.equal(done.status, 0, `${command} ${args.join(" ")}: ${done.stdout}${done.stderr}`);
  return done;
}

// What `taquin report` embeds of a file, as the page's own code reads it.
function page(file) {
  const html = `${file}.html`;
  run(TAQUIN_PROGRAM, ["report", file, "-o", html]);
  const model = collect(JSON.parse(readFileSync(html, "utf8").match(/id="taquin-data"[^>]*>(.*?)<\/script>/s)[1]));
  assert.deepEqual(model.problems, []);
  return model;
}

function reportOf(what, env = {}) {
  const file = join(folder, `${what}.json`);
  const { stderr } = run(REPORT_OF, [what], { TAQUIN_REPORT: `full:${file}`, ...env });
  return { terminal: stderr, model: page(file), json: JSON.parse(readFileSync(file, "utf8")) };
}

const UNITS = { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, ns: 1e-9, B: 1, K: 2 ** 10, KB: 2 ** 10, KiB: 2 ** 10, M: 2 ** 20, MB: 2 ** 20, MiB: 2 ** 20, "%": 0.01, "": 1 };
// A figure as it is shown, and half a unit of its last digit.
function figure(text) {
  const [, digits, unit] = text.match(/^\s*([0-9][0-9.,]*)\s*([A-Za-zµ%]*)/) ?? assert.fail(`no figure: ${text}`);
  const plain = digits.replaceAll(",", "");
  const after = plain.includes(".") ? plain.split(".")[1].length : 0;
  return { value: Number(plain) * UNITS[unit], half: (10 ** -after * UNITS[unit]) / 2 };
}
// The page shows three digits, but for zeros at the end.
function shownFigure(text) {
  const { value, half } = figure(text);
  const unit = UNITS[text.match(/^\s*[0-9.,]+\s*([A-Za-zµ%]*)/)[1]];
  const third = value > 0 ? (10 ** (Math.floor(Math.log10(value / unit)) - 2) * unit) / 2 : half;
  return { value, half: Math.min(half, third) };
}
function same(what, terminal, shown) {
  const [a, b] = [figure(terminal), shownFigure(shown)];
  assert.ok(Math.abs(a.value - b.value) <= (a.half + b.half) * 1.0001, `${what}: ${terminal} in the terminal, ${shown} on the page`);
}

const BALANCE = ["Balance the work before a call", /^alltoall in the_exchange\+0x[0-9a-f]+ waits 9[0-9]% of its time, most of it for rank 1$/, null];
const NATIVE = ["Leave a call site to the MPI library", /^alltoall in the_exchange\+0x[0-9a-f]+ is faster in the MPI library, measured in 30 of 300 calls: with TAQUIN_PROFILE naming a file of this text$/, '{"rules":[{"algorithm":"native","site":"the_exchange"}]}'];
const CASES = {
  late_rank: [BALANCE],
  one_long_wait: [],
  late_in_turn: [],
  hardly_late: [],
  native_faster: [NATIVE],
  native_already: [],
  native_three_times: [],
  native_not_told_apart: [],
  side_by_side: [],
  oversubscribed: [],
};

for (const [what, expected] of Object.entries(CASES))
  test(`${what}: ${expected.length ? expected.map((e) => e[0]) : "nothing"} is advised, in the terminal and on the page`, () => {
    const { terminal, model } = reportOf(what);
    const told = [...terminal.matchAll(/^taquin: {3}> (.*)$/gm)].map((m) => m[1]);
    const cards = worthDoing(model);
    assert.equal(told.length, expected.length, terminal);
    assert.equal(cards.length, expected.length, JSON.stringify(cards));
    for (const [i, [title, text, command]] of expected.entries()) {
      assert.equal(cards[i].title, title);
      assert.match(cards[i].text.replace(/\.$/, ""), text);
      assert.equal(cards[i].command, command);
      assert.equal(told[i], cards[i].text.replace(/\.$/, "") + (command ? `: ${command}` : ""));
    }
  });

test("a rule is advised so that it works: beside -a it has no effect, and a file of the printed text is a profile", () => {
  const { terminal } = reportOf("native_faster", { TAQUIN_ALGORITHM: "two_phase" });
  const [, how, text] = terminal.match(/^taquin: {3}> .* calls: (.*): (\{.*\})$/m) ?? assert.fail(terminal);
  assert.equal(how, "run without -a and TAQUIN_ALGORITHM, which overrule rules, and with TAQUIN_PROFILE naming a file of this text");
  const file = join(folder, "rules.json");
  writeFileSync(file, text);
  run(TAQUIN_PROGRAM, ["explain", "-n", "4", "--model", file]);
  const { terminal: again } = reportOf("native_faster", { TAQUIN_PROFILE: file });
  assert.match(again, new RegExp(`put this before the rules of ${file}: \\{"algorithm":"native","site":"the_exchange"\\}$`, "m"));
});

test("calls left to the MPI library have the same reasons and times in the terminal, JSON, metrics and the page", () => {
  const metrics = join(folder, "metrics.txt");
  const { terminal, json, model } = reportOf("passed_on", { TAQUIN_METRICS: metrics });
  const left = { "blocking: off: by MPI_Pcontrol": 7, "nonblocking: a trial: some calls are timed with the MPI library": 20, "nonblocking: the MPI library was faster in the trial": 270 };
  assert.deepEqual(json.left_to_mpi, left);
  const [source] = model.sources;
  assert.deepEqual(Object.fromEntries(source.leftToMpi.map((l) => [l.reason, l.calls])), left);
  for (const [reason, calls] of Object.entries(left)) assert.ok(terminal.includes(`left to MPI          ${calls} ${reason}\n`), terminal);
  assert.match(terminal, /trial lost, 12\.00 µs by the MPI library, 34\.00 µs by taquin/);
  const [lost] = json.sites[0].fallbacks.filter((f) => f.library_seconds);
  assert.deepEqual([lost.library_seconds, lost.taquin_seconds, lost.calls], [12e-6, 34e-6, 270]);
  assert.deepEqual(reasonsOf(source.sites[0]), ["20: a trial: some calls are timed with the MPI library", "270: the MPI library was faster in the trial (12 µs by the MPI library, 34 µs by taquin)"]);
  const text = readFileSync(metrics, "utf8");
  assert.match(text, /taquin_left_to_mpi_total\{rank="1",call="blocking",reason="off: by MPI_Pcontrol"\} 7\n/);
  assert.match(text, /taquin_left_to_mpi_total\{rank="0",call="ialltoall",.*reason="the MPI library was faster in the trial"\} 270\n/);
  assert.match(text, /taquin_lost_trial_seconds\{rank="0",.*by="library"\} 1\.2e-05\n.*by="taquin"\} 3\.4e-05\n/);
});

test("balance saves what the mean of the ranks' work saves, and no more", () => {
  const [card] = worthDoing(reportOf("late_rank").model);
  assert.ok(card.saves > 0.25 && card.saves <= 0.3, `300 calls, 2 ms late, 2 ranks: 0.3 s, not ${card.saves}`);
});

for (const what of Object.keys(CASES))
  test(`${what}: each total is the same in the terminal and on the page`, () => {
    const { terminal, model, json } = reportOf(what);
    const [source] = model.sources;
    const shown = Object.fromEntries(figuresOf(source).known.map((f) => [f.label, f]));
    const line = (label) => terminal.match(new RegExp(`^taquin: {3}${label} +(.*)$`, "m"))[1];
    same("calls", line("all-to-all calls"), shown.Calls.value);
    same("bytes", line("all-to-all calls").split(", ")[1], shown["Bytes exchanged"].value);
    same("time", line("time in them"), shown["Time in all-to-all"].value);
    same("share", line("time in them").split(", ")[1], shown["Time in all-to-all"].note);
    const [waiting, transfer] = line("waiting, transfer").split(", ");
    same("waiting", waiting, shown["Waiting for the last rank"].value);
    same("transfer", transfer.replace("s after", "s "), shown.Transfer.value);
    same("memory", line("peak scratch memory"), shown["Scratch memory"].value);
    assert.equal(/oversubscribed/.test(terminal), source.oversubscribed);
    assert.equal(source.sites.length, json.sites.length);
    for (const [i, site] of source.sites.entries()) {
      assert.equal(site.seconds, json.sites[i].seconds);
      assert.equal(site.waiting, json.sites[i].waiting_seconds);
      assert.equal(site.calls, json.sites[i].calls);
      assert.equal(site.bytes, json.sites[i].bytes);
    }
    const native = terminal.match(/MPI library's own +([0-9.]+ s) instead of ([0-9.]+ s)/);
    assert.equal(native !== null, source.sites.some((s) => s.native));
    if (native) {
      same("native", native[1], seconds(source.sites[0].native.seconds));
      same("instead of", native[2], seconds(source.sites[0].native.instead_of));
    }
  });

test("call sites that run side by side are not added up", () => {
  const { terminal, model } = reportOf("side_by_side");
  assert.match(terminal, /time in them +0\.027 s, 5\.4% of the run/);
  const [, sum] = terminal.match(/each with the time of its slowest rank: together ([0-9.]+) s; no rank spent more than 0\.027 s/);
  assert.ok(Math.abs(Number(sum) - model.sources[0].sites.reduce((all, s) => all + s.seconds, 0)) < 1e-3);
  assert.ok(!/slowest rank/.test(reportOf("late_rank").terminal), "one site adds up");
  assert.equal(seconds(model.sources[0].totals.seconds), "27 ms");
});

test("measured times are the same in the table and on the page", { skip: !MPIRUN }, () => {
  const file = join(folder, "times.json");
  const [command, ...args] = MPIRUN.split(" ");
  const { stdout } = run(command, [...args, "2", TAQUIN_PROGRAM, "run", "-b", "1K", "-a", "auto,pairwise,two_phase", "--reps", "12", "--json", file]);
  const { points } = page(file);
  const rows = stdout.split("\n").filter((l) => / µs | ms | ns /.test(l));
  assert.equal(rows.length, 4, stdout);
  for (const row of rows) {
    const [, name, median, low, high, ratio, peak] = row.match(/^(\w+)(?: \(\w+\))? +([0-9.]+ [mµn]s) +([0-9.]+ [mµn]s) \.\. ([0-9.]+ [mµn]s) +([0-9.]+) +(\S+ \S+)/) ?? assert.fail(row);
    const point = points.find((p) => p.algorithm === name && p.basis === "measured") ?? assert.fail(`${name} is not on the page`);
    same(`${name}, median`, median, seconds(point.time));
    same(`${name}, low`, low, seconds(point.low));
    same(`${name}, high`, high, seconds(point.high));
    same(`${name}, ratio`, ratio, String(point.ratio));
    same(`${name}, memory`, peak, bytes(point.memory));
  }
});
