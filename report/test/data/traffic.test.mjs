import assert from "node:assert/strict";
import { test } from "node:test";
import { collect } from "../../src/data/model.mjs";
import { spreadWide, tellingSite, toldApart } from "../../src/data/traffic.mjs";
import { addUp, cut, imbalance, prepareReport, prepareTraffic } from "../../src/data/traffic.mjs";

// As the command embeds it: 4 ranks, two matrices, one site.
const recording = {
  program: "p",
  ranks: 4,
  group: 1,
  per_node: 2,
  entries: 3,
  communicators: [{ ranks: 4, first: 0 }],
  matrices: [
    { ranks: 4, uniform: 2, total: 32 },
    { ranks: 4, flows: [0, 1, 10, 3, 2, 7], total: 17 },
  ],
  sites: [
    { communicator: 0, kind: "alltoallv", in_place: false, calls: 6, bytes: 130, seconds: 0.6, sent: [50, 16, 16, 48], received: [16, 50, 48, 16], sizes: [[0, 14], [2, 64, 128]], matrices: [[0, 4], [1, 2]] },
  ],
  calls: [[0, 0, 4, 0.1, 0.1, 0.1, 32], [0, 1, 1, 0.1, 0.1, 0.1, 17], [0, 1, 1, 0.1, 0.1, 0.1, 17]],
};

test("a recording's matrices add up by their calls", () => {
  const source = prepareTraffic(recording, "r.json");
  const { n, cells } = addUp(source, source.sites[0].matrices);
  assert.equal(n, 4);
  assert.equal(cells[0 * 4 + 1], 4 * 2 + 2 * 10);
  assert.equal(cells[3 * 4 + 2], 4 * 2 + 2 * 7);
  assert.equal(cells[1 * 4 + 0], 8);
});

test("calls stand at their number in the program, repeats counted", () => {
  const source = prepareTraffic(recording, "r.json");
  assert.deepEqual(source.sites[0].evolution.map((c) => c.at), [0, 4, 5]);
  assert.equal(source.nodes, 2);
  assert.equal(source.totals.calls, 6);
  assert.equal(source.totals.waiting, null);
});

test("groups of ranks are one cell", () => {
  const source = prepareTraffic({ ...recording, group: 2, matrices: [{ ranks: 4, cells: [1, 2, 3, 4] }] }, "r.json");
  const { n, cells, group } = addUp(source, [[0, 3]]);
  assert.equal(n, 2);
  assert.equal(group, 2);
  assert.deepEqual([...cells], [3, 6, 9, 12]);
});

test("a part of a matrix is added up to the cells that are drawn, and loses no byte", () => {
  const n = 10;
  const cells = Float64Array.from({ length: n * n }, (_, i) => i);
  const part = cut({ n, cells }, [1, 10], [0, 7], 4);
  assert.equal(part.step, 3);
  assert.deepEqual([part.rows, part.cols], [3, 3]);
  let all = 0;
  for (let r = 1; r < 10; ++r) for (let c = 0; c < 7; ++c) all += r * n + c;
  assert.equal(part.values.reduce((a, b) => a + b), all);
  assert.equal(part.values[0], 10 + 11 + 12 + 20 + 21 + 22 + 30 + 31 + 32);
});

test("imbalance is the largest over the mean", () => {
  assert.equal(imbalance([1, 1, 1, 1]), 1);
  assert.equal(imbalance([4, 0, 0, 0]), 4);
  assert.equal(imbalance([]), 0);
  assert.equal(imbalance([0, 0]), 0);
});

test("a report of a run tells waiting from transfer, and its share of the run", () => {
  const source = prepareReport(
    {
      ranks: 4,
      nodes: 2,
      seconds: 10,
      sites: [
        { form: "alltoall", function: "f", file: "a.cpp", line: 3, calls: 2, bytes: 8, seconds: 1.5, waiting_seconds: 0.5, peak_memory: 7, flows: [[0, 1, 5]] },
        { form: "alltoallv", calls: 1, bytes: 4, seconds: 0.5, peak_memory: 9 },
        { form: "sparse", function: "g", calls: 3, bytes: 40, seconds: 0, destinations: 2, sources: 3 },
      ],
    },
    "report.json",
  );
  assert.equal(source.sites[0].label, "Alltoall at f (a.cpp:3)");
  assert.equal(source.sites[1].label, "Alltoallv at unknown call site");
  assert.equal(source.sites[2].label, "Sparse exchange at g");
  assert.deepEqual(source.sites.map((s) => [s.destinations, s.sources]), [[null, null], [null, null], [2, 3]]);
  assert.equal(source.totals.share, 0.2);
  assert.equal(source.totals.waiting, 0.5);
  assert.equal(source.totals.peak, 9);
  assert.equal(addUp(source, source.sites[0].matrices).cells[1], 5);
  assert.equal(addUp(source, source.sites[1].matrices), null);
});

test("waiting is told apart where the recording does so, and else it is not known", () => {
  const site = { ...recording.sites[0], waiting: 0.2 };
  const source = prepareTraffic({ ...recording, sites: [site], calls: recording.calls.map((c) => [...c, 0.05]) }, "r.json");
  assert.equal(source.totals.waiting, 0.2);
  assert.equal(source.sites[0].evolution[0].waiting, 0.05);
  assert.equal(prepareTraffic(recording, "r.json").sites[0].waiting, null);
});

test("call sites on different ranks are not added up: the total is what the file tells by rank", () => {
  const sites = [{ form: "alltoall", communicator: { ranks: 2 }, calls: 1, bytes: 1, seconds: 3 }, { form: "alltoall", communicator: { ranks: 2 }, calls: 1, bytes: 1, seconds: 3 }, { form: "alltoall", communicator: { ranks: 4 }, calls: 1, bytes: 1, seconds: 1 }];
  const waiting_basis = { basis: "estimated", calls: 10, of: 80, low: 0.9, high: 1.1 };
  assert.equal(prepareReport({ ranks: 4, seconds: 10, sites, totals: { seconds: 4, waiting_seconds: 1, waiting_basis } }, "r").totals.estimate, ", estimated from 10 of 80 calls");
  assert.equal(prepareReport({ ranks: 4, seconds: 10, sites, totals: { seconds: 4, waiting_seconds: 1 } }, "r").totals.share, 0.4);
  assert.equal(prepareReport({ ranks: 4, seconds: 10, sites }, "r").totals.seconds, null);
});

test("things of one name are told apart, by words first", () => {
  const labels = (list) => toldApart(list.map(([label, a, b]) => ({ label, a, b })), [(i) => i.a, (i) => i.b]).map((i) => i.label);
  assert.deepEqual(labels([["x", 1, 1], ["y", 1, 1]]), ["x", "y"]);
  assert.deepEqual(labels([["x", 1, 1], ["x", 2, 1]]), ["x, 1", "x, 2"]);
  assert.deepEqual(labels([["x", 1, 1], ["x", 1, 2]]), ["x, 1, 1", "x, 1, 2"]);
  assert.deepEqual(labels([["x", 1, 1], ["x", 1, 1]]), ["x, 1, 1 (1)", "x, 1, 1 (2)"]);
});

test("a logarithmic axis is for values of which one is far off, never for zeros", () => {
  assert.ok(spreadWide([1, 1, 1, 100]));
  assert.ok(!spreadWide([1, 1, 1, 2]));
  assert.ok(!spreadWide([0, 1, 1, 100]));
  assert.ok(!spreadWide([1, 100]));
});

test("a page begins with the recording, and the calls, whose pairs differ", () => {
  const data = (matrices, seconds) => ({
    ranks: 4, program: "p", group: 1, communicators: [{ ranks: 4, first: 0 }], calls: [], entries: 0, totals: { seconds, waiting_seconds: 0 },
    matrices, sites: matrices.map((_, i) => ({ communicator: 0, kind: "alltoall", in_place: i === 1, calls: 1, bytes: 100 - i, seconds, sent: [], received: [], sizes: [], matrices: [[i, 1]] })),
  });
  const even = { ranks: 4, uniform: 1 };
  const uneven = { ranks: 4, flows: [0, 1, 5] };
  const page = { taquin_page: 1, files: [{ kind: "traffic", name: "even", data: data([even], 9) }, { kind: "traffic", name: "uneven", data: data([even, uneven], 1) }] };
  const model = collect(page);
  assert.deepEqual(model.sources.map((s) => s.name), ["uneven", "even"]);
  assert.equal(tellingSite(model.sources[0]).index, 1);
  assert.equal(tellingSite(model.sources[1]).index, 0);
});

test("a page begins with the call site that the advice is about", () => {
  const data = {
    taquin_report: 1, ranks: 2, seconds: 9, totals: { seconds: 5 }, advice: [{ title: "t", text: "x", basis: "measured", saves_seconds: 1, site: 1 }],
    sites: [9, 1, 5].map((bytes, i) => ({ form: "alltoall", file: "a.c", line: i, calls: 1, bytes, seconds: i, sent: [], received: [], sizes: [], flows: [[0, 1, 5]] })),
  };
  const model = collect({ taquin_page: 1, files: [{ kind: "report", name: "r", data }] });
  assert.equal(tellingSite(model.sources[0]).index, 1);
  assert.equal(tellingSite({ ...model.sources[0], advice: [] }).index, 0);
});
