import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { pointsOfPredictions, pointsOfRecords } from "../../src/data/algorithms.mjs";
import { quoted, savingText, worthDoing } from "../../src/data/overview.mjs";
import { prepareReport } from "../../src/data/traffic.mjs";
import { predictions, records } from "../inputs.mjs";

const model = (parts) => ({ sources: [], points: [], ...parts });
const measured = () => pointsOfRecords(records(), "r.json").points;

test("a faster algorithm is worth doing, with its command and what was measured", () => {
  const things = worthDoing(model({ points: measured().filter((p) => p.bytes === 64) }));
  assert.match(things[0].command, /^mpirun -n 8 taquin wrap -a zero_copy_bruck PROGRAM$/);
  assert.equal(things[0].basis, "measured");
  assert.match(savingText(things[0]), /^saves .* each exchange$/);
});

test("what was only predicted is no advice", () => {
  assert.equal(worthDoing(model({ points: pointsOfPredictions(predictions(), "p.json") })).length, 0);
});

test("a time without an interval is no advice", () => {
  const one = { algorithm: "native", ranks: 2, workload: "uniform", bytes_per_rank: 8, median_s: 1 };
  const { points } = pointsOfRecords([one, { ...one, algorithm: "pairwise", median_s: 0.1 }], "");
  assert.equal(worthDoing(model({ points })).length, 0);
});

test("what auto chose is never named, and a command comes once", () => {
  const one = { ranks: 4, collective: "recorded", bytes_per_rank: 8 };
  const of = (workload) => [
    { ...one, workload, algorithm: "native", median_s: 1, ci95_s: [0.99, 1.01] },
    { ...one, workload, algorithm: "shared_memory", asked: "auto", median_s: 0.3, ci95_s: [0.29, 0.31] },
    { ...one, workload, algorithm: "shared_memory", asked: "shared_memory", median_s: 2, ci95_s: [1.9, 2.1] },
  ];
  const things = worthDoing(model({ points: pointsOfRecords([...of("a.json"), ...of("b.json")], "").points }));
  assert.deepEqual(things.map((t) => t.command), ["mpirun -n 4 taquin wrap PROGRAM"]);
  assert.ok(!/shared_memory/.test(JSON.stringify(things)));
  assert.match(things[0].text, /Also faster: the recorded calls of b.json/);
});

test("what was measured as a plan is advised as a plan, and not for calls that make none", () => {
  const one = { ranks: 4, workload: "uniform", collective: "alltoallw", persistent: true, bytes_per_rank: 8 };
  const cards = (name, asked) =>
    worthDoing(model({ points: pointsOfRecords([{ ...one, algorithm: "native", median_s: 1, ci95_s: [0.9, 1.1] }, { ...one, algorithm: name, asked, median_s: 0.5, ci95_s: [0.4, 0.6] }], "").points }));
  const [best] = cards("shared_memory", "auto");
  assert.equal(best.title, "Make a plan once");
  assert.equal(best.command, "taquin::plan(taquin::exchange::alltoallw(...))  or, in C, TAQUIN_Alltoallw_init(...)");
  const [named] = cards("pairwise", "pairwise");
  assert.equal(named.title, "Make a plan once, with pairwise");
  assert.match(named.command, /^taquin::plan\(taquin::exchange::alltoallw\(\.\.\.\), \{\.algorithm = "pairwise"\}\)/);
  assert.ok(!/wrap/.test(JSON.stringify([best, named])));
});

test("what is slower for another size, or saves microseconds, is no advice", () => {
  const one = { ranks: 4, workload: "uniform", collective: "alltoallv" };
  const of = (bytes_per_rank, algorithm, median_s) => ({ ...one, bytes_per_rank, algorithm, median_s, ci95_s: [0.99 * median_s, 1.01 * median_s] });
  const cards = (list) => worthDoing(model({ points: pointsOfRecords(list, "").points }));
  const small = [of(64, "native", 4e-5), of(64, "pairwise", 2e-5)];
  assert.equal(cards(small).length, 1);
  assert.equal(cards([...small, of(4096, "native", 4e-5), of(4096, "pairwise", 3.9e-5)]).length, 1);
  assert.deepEqual(cards([...small, of(4096, "native", 4e-5), of(4096, "pairwise", 8e-5)]), []);
  assert.deepEqual(cards([of(64, "native", 3e-6), of(64, "pairwise", 1.5e-6)]), []);
  const recorded = (workload, algorithm, median_s) => ({ ...of(64, algorithm, median_s), workload, collective: "recorded" });
  const programs = [recorded("a.json", "native", 1), recorded("a.json", "pairwise", 0.5), recorded("b.json", "native", 1), recorded("b.json", "pairwise", 2)];
  assert.match(cards(programs)[0].text, /for the recorded calls of a.json; the MPI library takes 1 s\.$/);
});

test("intervals that meet, small gains and wrong results are not worth doing", () => {
  const one = { algorithm: "native", ranks: 2, workload: "uniform", bytes_per_rank: 8, median_s: 1, ci95_s: [0.5, 1.5] };
  const other = (extra) => [one, { ...one, algorithm: "pairwise", ...extra }];
  const things = (list) => worthDoing(model({ points: pointsOfRecords(list, "").points }));
  assert.equal(things(other({ median_s: 0.8, ci95_s: [0.4, 1.2] })).length, 0);
  assert.equal(things(other({ median_s: 0.97, ci95_s: [0.97, 0.97] })).length, 0);
  assert.equal(things(other({ median_s: 0.1, ci95_s: [0.1, 0.1], wrong_bytes: 1 })).length, 0);
  assert.equal(things(other({ median_s: 0.1, ci95_s: [0.1, 0.1] })).length, 1);
});

test("of a report's advice the page repeats what was measured", () => {
  const report = JSON.parse(readFileSync(new URL("../inputs/report.json", import.meta.url)));
  const things = (advice) => worthDoing(model({ sources: [prepareReport({ ...report, advice }, "report.json")] }));
  assert.equal(things(report.advice.map((a) => ({ ...a, basis: "predicted" }))).length, 0);
  assert.equal(things(report.advice.map((a) => ({ ...a, basis: "measured" })))[0].command, "TAQUIN_PROFILE=machine.json");
});

test("a recording that was not measured is to be measured", () => {
  const source = { kind: "recording", name: "dir/my file.json", ranks: 4, sites: [], totals: { seconds: 0 } };
  const things = worthDoing(model({ sources: [source] }));
  assert.match(things[0].command, /--traffic 'dir\/my file.json'/);
  assert.equal(things[0].title, "Measure the calls of my file.json under every algorithm");
  assert.equal(savingText(things[0]), "How much it saves is not known before it is measured.");
});

test("names in commands are quoted for the shell", () => {
  assert.equal(quoted("a/b.json"), "a/b.json");
  assert.equal(quoted("a'; rm -r x"), "'a'\\''; rm -r x'");
});

test("a model's word does not stand beside what was measured of the same exchange", () => {
  const record = (algorithm, median_s, predicted_s) => ({ algorithm, ranks: 2, workload: "uniform", bytes_per_rank: 8, median_s, predicted_s });
  const { points } = pointsOfRecords([record("native", 1, 9), record("pairwise", 1, 2)], "");
  assert.equal(points.filter((p) => p.basis === "predicted").length, 2);
  assert.equal(worthDoing(model({ points })).length, 0);
});

// Programs whose best remedy is known, with times that are given; bench/advice/run measures the like.
const REPORT = JSON.parse(readFileSync(new URL("../inputs/report.json", import.meta.url)));
const reported = (advice) => worthDoing(model({ sources: [prepareReport({ ...REPORT, advice: advice.map((a) => ({ basis: "measured", ...a })) }, "report.json")] }));

test("advised where it is known to help: a late rank is told without a command, a site gets its own rule", () => {
  const late = { title: "Balance the work before a call", text: "alltoall at x.c:7 waits 90% of its time, most of it for rank 3", saves_seconds: 0.5 };
  const site = { title: "Leave a call site to the MPI library", text: "alltoall in solve is faster in the MPI library", command: '{"algorithm":"native","site":"solve"}', saves_seconds: 0.2 };
  const things = reported([late, site]);
  assert.deepEqual(things.map((t) => [t.title, t.command]), [[late.title, null], [site.title, site.command]]);
  assert.ok(things.every((t) => !/-a native/.test(t.command ?? "")), "never for all sites");
});

test("two cards of one title are told apart", () => {
  const site = (place) => ({ title: "Leave a call site to the MPI library", text: `alltoall at ${place} is faster in the MPI library`, command: `{"site":"${place}"}`, saves_seconds: 0.2 });
  assert.deepEqual(reported([site("a.c:1"), site("b.c:2")]).map((t) => t.title), ["a.c:1", "b.c:2"].map((p) => `Leave a call site to the MPI library: alltoall at ${p}`));
});

test("nothing is advised where nothing helps: all algorithms take as long as the MPI library's call", () => {
  const one = { ranks: 2, workload: "uniform", collective: "alltoallv", bytes_per_rank: 8 };
  const same = ["native", "auto", "pairwise", "spread_out"].map((algorithm, i) => ({ ...one, algorithm, median_s: 1 + 0.01 * i, ci95_s: [0.98, 1.05] }));
  assert.deepEqual(worthDoing(model({ points: pointsOfRecords(same, "").points })), []);
  assert.deepEqual(reported([]), []);
});
