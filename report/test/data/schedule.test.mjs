import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { carriedBlocks, prepareSchedule } from "../../src/data/schedule.mjs";
import { prepareStrip, put, settled, takeOut } from "../../src/data/strip.mjs";
import { stepsOf, stepsOfRecords } from "../../src/data/redistribution.mjs";

const input = (name) => JSON.parse(readFileSync(new URL(`../inputs/${name}.json`, import.meta.url)));

test("messages between nodes are told, and links add them up", () => {
  const s = prepareSchedule({ algorithm: "x", ranks: 4, per_node: 2, rounds: [{ messages: [[0, 1, 5], [0, 2, 7], [1, 3, 9], [3, 0, 1]] }] }, "");
  assert.deepEqual(s.rounds[0].messages.map((m) => m.between), [false, true, true, true]);
  const link = s.rounds[0].links.find((l) => l.from === 0 && l.to === 1);
  assert.deepEqual([link.messages, link.bytes], [2, 16]);
  assert.equal(s.totals.bytes, 22);
  assert.equal(s.nodes, 2);
});

test("nodes may have different numbers of ranks", () => {
  const s = prepareSchedule({ algorithm: "x", ranks: 4, per_node: 0, nodes: [1, 3], rounds: [{ messages: [[0, 1, 5], [1, 3, 7]] }] }, "");
  assert.deepEqual(s.rounds[0].messages.map((m) => m.between), [true, false]);
  assert.equal(s.nodes, 2);
});

test("what passes through others is told, its own block is not", () => {
  assert.equal(carriedBlocks({ from: 1, to: 2, blocks: [[1, 2], [0, 3]] }), "0>3");
  assert.equal(carriedBlocks({ from: 1, to: 2, blocks: [[1, 2]] }), "");
  assert.equal(carriedBlocks({ from: 1, to: 2, blocks: null }), null);
  assert.equal(carriedBlocks({ from: 1, to: 2, blocks: [] }), "no block");
  assert.equal(carriedBlocks({ from: 1, to: 2, blocks: Array(10).fill([0, 3]) }, 2), "0>3 0>3 and 8 more");
});

test("for which use a picture holds stands in its name", () => {
  assert.equal(prepareSchedule({ algorithm: "x", ranks: 4, drawn_as: "reused plan" }, "").label, "x as a reused plan, 4 ranks, uniform");
  assert.equal(prepareSchedule({ algorithm: "x", ranks: 4 }, "").label, "x, 4 ranks, uniform");
});

test("a part taken out of a piece leaves both of its ends", () => {
  const { rest, taken } = takeOut([{ at: 0, length: 10, aux: false, peer: 1 }], 3, 4, false);
  assert.deepEqual(rest.map((p) => [p.at, p.length]), [[0, 3], [7, 3]]);
  assert.deepEqual(taken.map((p) => [p.at, p.length]), [[3, 4]]);
  assert.equal(takeOut(rest, 0, 10, true).taken.length, 0);
});

test("a piece that is put down covers what was there", () => {
  const pieces = put([{ at: 0, length: 10, aux: false, peer: 1 }], { at: 2, length: 3, aux: false, peer: 7 });
  assert.deepEqual(pieces.map((p) => [p.at, p.length, p.peer]), [[0, 2, 1], [2, 3, 7], [5, 5, 1]]);
});

for (const name of ["puzzle", "phases"]) test(`in the end everything is where it belongs, on every rank: ${name}`, () => {
  const strip = prepareStrip(input(name), `${name}.json`);
  assert.ok(strip.steps.length > 3);
  strip.ranks.forEach((_, rank) => {
    const { done, all } = settled(strip, rank, strip.steps.length - 1);
    assert.equal(done, all, `rank ${rank}`);
    assert.ok(settled(strip, rank, 0).done < all);
    for (const step of strip.steps)
      for (const p of step.ranks[rank]) assert.ok(p.at >= 0 && p.at + p.length <= (p.aux ? strip.ranks[rank].aux : strip.ranks[rank].units));
  });
});

test("a redistribution ends with all blocks in place and none held aside", () => {
  for (const name of ["slots", "parking"]) {
    const { points } = stepsOf(input(name), name);
    const last = points.at(-1);
    assert.equal(last.settled, 240, name);
    assert.equal(last.aside, 0, name);
    assert.equal(last.away, 0, name);
    for (let i = 1; i < points.length; ++i) assert.ok(points[i].copied >= points[i - 1].copied);
  }
});

test("what the MPI library does is a text, not a picture", () => {
  const s = prepareSchedule(input("native"), "native.json");
  assert.equal(s.rounds.length, 0);
  assert.match(s.note, /does not report/);
});

test("messages through nodes stay between nodes once", () => {
  const s = prepareSchedule(input("node_aggregated"), "node_aggregated.json");
  assert.equal(s.totals.messages, s.totals.between + s.rounds.reduce((n, r) => n + r.messages.filter((m) => !m.between).length, 0));
  assert.ok(s.totals.between < 8 * 7, "fewer than pairs of ranks");
});

test("a record of a redistribution that tells how it went over time is drawn with it", () => {
  const record = { algorithm: "slots", asked: "slots", workload: "random", ranks: 4, blocks: 1000, block_bytes: 64, free_blocks: 5, over_time: input("slots") };
  const [steps] = stepsOfRecords([record, { ...record, asked: "auto" }, { ...record, over_time: null }], "r.json");
  assert.match(steps.label, /1000 blocks of 64 bytes/);
  assert.equal(steps.blocks, 64);
  assert.equal(stepsOfRecords([record, { ...record, asked: "auto" }, { ...record, over_time: null }], "r.json").length, 1);
});
