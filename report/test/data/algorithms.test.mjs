import assert from "node:assert/strict";
import { test } from "node:test";
import { roomFor, styles } from "../../src/view/curves.mjs";
import { casesOf, crossovers, curvesOf, distinctPredictions, firstShown, pointsOfPredictions, pointsOfProfile, pointsOfRecords } from "../../src/data/algorithms.mjs";
import { predictions, records } from "../inputs.mjs";

const all = () => pointsOfRecords(records(), "r.json");

test("an algorithm without a time is told with its reason", () => {
  const { points, unserved } = all();
  assert.equal(points.length, 16);
  assert.deepEqual(unserved.map((u) => [u.algorithm, u.reason]), [["in_place", "needs one buffer"]]);
});

test("native and native through taquin are two curves", () => {
  const one = { ranks: 2, workload: "uniform", bytes_per_rank: 8, median_s: 1 };
  const { points } = pointsOfRecords([{ ...one, algorithm: "native" }, { ...one, algorithm: "native" }], "");
  assert.deepEqual(points.map((p) => p.algorithm), ["native", "native through taquin"]);
});

test("in one buffer the MPI library's call is drawn with the second buffer that it needs", () => {
  const one = { ranks: 2, workload: "uniform", bytes_per_rank: 4096, median_s: 1, peak_memory: 0 };
  const memory = (more) => pointsOfRecords([{ ...one, ...more }], "").points[0].memory;
  assert.equal(memory({ algorithm: "native", in_place: true }), 4096);
  assert.equal(memory({ algorithm: "native", in_place: false }), 0);
  assert.equal(memory({ algorithm: "in_place", in_place: true, peak_memory: 64 }), 64);
});

test("what was asked for as auto is the curve auto", () => {
  for (const key of ["asked", "requested"]) {
    const { points } = pointsOfRecords([{ algorithm: "pairwise", [key]: "auto", ranks: 2, median_s: 1 }], "");
    assert.equal(points[0].algorithm, "auto");
    assert.equal(points[0].chosen, "pairwise");
  }
});

test("measured and predicted times of one exchange share a case, by bytes and by ranks", () => {
  const points = [...all().points, ...pointsOfPredictions(predictions(), "p.json")];
  const cases = casesOf(points);
  assert.equal(cases.length, 1);
  assert.deepEqual(cases[0].views.map((v) => [v.axis, v.fixed]), [["bytes", 8], ["ranks", 16384]]);
  const curves = curvesOf(cases[0].views[1]);
  assert.ok(curves.some((c) => c.basis === "measured") && curves.some((c) => c.basis === "predicted"));
});

test("one size on one number of ranks is a view without an axis", () => {
  const cases = casesOf(all().points.filter((p) => p.bytes === 64));
  assert.equal(cases[0].views.length, 1);
  assert.equal(cases[0].views[0].axis, null);
});

test("curves cross where their times are equal", () => {
  const line = (algorithm, f) => ({ algorithm, basis: "measured", points: [1, 10, 100, 1000].map((bytes) => ({ bytes, time: f(bytes), low: f(bytes) * (1 - wide), high: f(bytes) * (1 + wide) })) });
  let wide = 0.1;
  const found = crossovers([line("a", (b) => b), line("b", () => 50)], "bytes");
  assert.equal(found.length, 1);
  assert.ok(Math.abs(found[0].at / 50 - 1) < 0.1, String(found[0].at));
  assert.deepEqual([found[0].from, found[0].to], ["a", "b"]);
  wide = 0.8;
  assert.deepEqual(crossovers([line("a", (b) => b), line("b", () => 50)], "bytes"), [], "intervals that meet tell of no crossing");
});

test("no two curves have one colour, however many there are", () => {
  const names = Array.from({ length: 40 }, (_, i) => `algorithm_${i}`);
  assert.equal(new Set([...styles(["native", ...names]).values()].map((s) => s.colour)).size, 41);
});

test("names at the left of a plot have the room that they need, on a phone too", () => {
  assert.ok(roomFor(["hierarchical_factor_x"], 330) >= 20 * 6.4);
  assert.ok(roomFor(["x".repeat(200)], 330) <= 330 * 0.6);
});

test("curves that never cross have no crossing, and measured ones do not cross predicted ones", () => {
  const line = (algorithm, basis, time) => ({ algorithm, basis, points: [1, 10].map((bytes) => ({ bytes, time })) });
  assert.deepEqual(crossovers([line("a", "measured", 1), line("b", "measured", 2)], "bytes"), []);
  const rising = { algorithm: "c", basis: "predicted", points: [{ bytes: 1, time: 0.1 }, { bytes: 10, time: 10 }] };
  assert.deepEqual(crossovers([line("a", "measured", 1), rising], "bytes"), []);
});

test("native and the fastest are shown at first", () => {
  const shown = firstShown(curvesOf(casesOf(all().points)[0].views[0]), 3);
  assert.ok(shown.has("native") && shown.has("zero_copy_bruck"));
  assert.ok(!shown.has("spread_out"));
});

test("a profile's points keep what they were measured with apart", () => {
  const point = { algorithm: "pairwise", ranks: 4, collective: "alltoallv", in_place: false, symmetric: true, skew: 0, bytes: 64, time: 1e-5 };
  const points = pointsOfProfile({ measured: [{ ...point, reused: false }, { ...point, reused: true }] }, "m.json");
  assert.notEqual(points[0].label, points[1].label);
});

test("what the model says of a measured exchange is a point of the same case", () => {
  const record = { algorithm: "pairwise", asked: "pairwise", workload: "uniform", collective: "alltoallv", ranks: 4, bytes_per_rank: 64, median_s: 2, predicted_s: 1 };
  const { points } = pointsOfRecords([record, { ...record, bytes_per_rank: 128, predicted_s: null }], "r.json");
  assert.deepEqual(points.map((p) => [p.basis, p.bytes, p.time]), [["measured", 64, 2], ["measured", 128, 2], ["predicted", 64, 1]]);
  assert.equal(casesOf(points).length, 1);
  const simulated = pointsOfPredictions([{ algorithm: "pairwise", workload: "uniform", collective: "alltoallv", ranks: 4, bytes_per_rank: 64, formula_s: 3 }], "s.json");
  assert.equal(distinctPredictions([...points, ...simulated]).length, 3);
});

test("a profile's points come with what its model said", () => {
  const one = { algorithm: "pairwise", ranks: 4, collective: "alltoallv", skew: 0, bytes: 64, time: 2 };
  assert.deepEqual(pointsOfProfile({ measured: [{ ...one, predicted: 1 }, { ...one, bytes: 128, predicted: null }] }, "").map((p) => [p.basis, p.time]), [["measured", 2], ["predicted", 1], ["measured", 2]]);
});
