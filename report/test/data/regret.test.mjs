import assert from "node:assert/strict";
import { test } from "node:test";
import { collect } from "../../src/data/model.mjs";
import { regretOf, shares } from "../../src/data/regret.mjs";
import { records, regrets } from "../inputs.mjs";

test("random calls are points of their own, not times of algorithms", () => {
  const page = { taquin_page: 1, files: [{ kind: "records", name: "a.json", data: [...regrets(), ...records()] }] };
  const model = collect(page);
  assert.equal(model.regrets.length, 4); // one was not measured
  assert.equal(model.points.length, collect({ ...page, files: [{ kind: "records", name: "a.json", data: records() }] }).points.length);
  assert.equal(model.problems.length, 0);
});

test("shares by kind, with the worst", () => {
  const [calls, inPlace] = shares(regretOf(regrets(), "a.json"));
  assert.deepEqual([calls.cells, calls.share, calls.median, calls.worst], [3, 2 / 3, 0.8, 1.2]);
  assert.deepEqual([inPlace.family, inPlace.share], ["in place", 1]);
});
