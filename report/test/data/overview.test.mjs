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
  const things = worthDoing(model({ points: measured() }));
  assert.match(things[0].command, /^mpirun -n 8 taquin wrap -a zero_copy_bruck PROGRAM$/);
  assert.equal(things[0].basis, "measured");
  assert.match(savingText(things[0]), /^saves .* each exchange$/);
});

test("what was predicted says so", () => {
  const things = worthDoing(model({ points: pointsOfPredictions(predictions(), "p.json") }));
  assert.ok(things.length > 0);
  assert.ok(things.every((t) => t.basis === "predicted"));
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

test("at most three things, and the advice of a report among them", () => {
  const report = JSON.parse(readFileSync(new URL("../inputs/report.json", import.meta.url)));
  const things = worthDoing(model({ sources: [prepareReport(report, "report.json")], points: measured() }));
  assert.equal(things.length, 3);
  assert.ok(things.some((t) => /waiting/.test(t.text)));
  assert.ok(things.some((t) => t.command === "TAQUIN_PROFILE=machine.json"));
});

test("a recording that was not measured is to be measured", () => {
  const source = { kind: "recording", name: "dir/my file.json", ranks: 4, sites: [], totals: { seconds: 0 } };
  const things = worthDoing(model({ sources: [source] }));
  assert.match(things[0].command, /--traffic 'dir\/my file.json'/);
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
