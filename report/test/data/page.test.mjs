import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { toCsv } from "../../src/data/csv.mjs";
import { byteTicks, bytes, seconds, short } from "../../src/data/format.mjs";
import { collect } from "../../src/data/model.mjs";
import { records, redistributions } from "../inputs.mjs";

test("files go to their sections, and one that is wrong leaves the others", () => {
  const plan = JSON.parse(readFileSync(new URL("../inputs/basic_bruck.json", import.meta.url)));
  const model = collect({
    taquin_page: 1,
    problems: [{ name: "a.json", what: "damaged" }],
    files: [
      { name: "r.json", kind: "records", data: [...records(), ...redistributions()] },
      { name: "bad.json", kind: "traffic", data: {} },
      { name: "new.json", kind: "unheard", data: {} },
      { name: "plan.json", kind: "plan", data: plan },
    ],
  });
  assert.deepEqual(model.problems.map((p) => p.name), ["a.json", "bad.json", "new.json"]);
  assert.deepEqual(model.files.map((f) => f.name), ["r.json", "plan.json"]);
  assert.equal(model.points.length, 16);
  assert.equal(model.redistributions.length, 3);
  assert.equal(model.schedules.length, 1);
});

test("a page without data says so", () => {
  for (const data of [null, {}, { taquin_page: 2 }]) assert.equal(collect(data).problems.length, 1);
});

test("CSV keeps commas, quotes and lines, and no text is a formula", () => {
  const csv = toCsv({
    columns: [{ key: "a", label: "a,b" }, { key: "n", label: "n" }],
    rows: [{ a: 'x"y\nz', n: -1.5 }, { a: "=1+1", n: null }],
  });
  assert.equal(csv, '"a,b",n\r\n"x""y\nz",-1.5\r\n\'=1+1,\r\n');
});

test("figures are short and have units", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(2 ** 60), "1 EiB");
  assert.equal(bytes(undefined), "–");
  assert.equal(seconds(2.5e-6), "2.5 µs");
  assert.equal(seconds(0.25), "250 ms");
  assert.equal(seconds(90), "90 s");
  assert.equal(short(123456), "123,456");
});

test("ticks in bytes are powers of two apart", () => {
  assert.deepEqual(byteTicks(1000, 4), [0, 256, 512, 768]);
  assert.deepEqual(byteTicks(0), [0]);
  assert.ok(byteTicks(1e15).length < 7);
});
