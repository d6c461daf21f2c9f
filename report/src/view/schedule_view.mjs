import * as Plot from "@observablehq/plot";
import { byteTicks, bytes, count, counted } from "../data/format.mjs";
import { carriedBlocks } from "../data/schedule.mjs";
import { choice, h } from "./dom.mjs";
import { figure } from "./figure.mjs";
import { player } from "./player.mjs";
import { strips } from "./strip_view.mjs";

const INSIDE = "var(--c0)";
const BETWEEN = "var(--c1)";
const MOST_LINKS = 4000; // of one round: more is a grey surface

function told(message, most) {
  const blocks = carriedBlocks(message, most);
  return blocks === null ? "the file does not tell" : blocks || "its own block";
}

function nodesOf(schedule) {
  if (schedule.nodes === schedule.ranks) return [];
  return Array.from({ length: schedule.nodes }, (_, node) => ({
    node,
    x1: node * schedule.perNode - 0.45,
    x2: Math.min((node + 1) * schedule.perNode, schedule.ranks) - 0.55,
  }));
}

function roundPlot(schedule, index, width) {
  const round = schedule.rounds[index];
  const messages = round?.messages ?? [];
  const shown = messages.length > MOST_LINKS ? messages.filter((_, i) => i % Math.ceil(messages.length / MOST_LINKS) === 0) : messages;
  const most = Math.max(1, ...schedule.rounds.flatMap((r) => r.messages.slice(0, 5000).map((m) => m.bytes)));
  const ranks = Array.from({ length: schedule.ranks }, (_, r) => r);
  const nodes = nodesOf(schedule);
  const label = schedule.ranks <= width / 26;
  const idle = round && !messages.length ? `no message: ${counted(round.copies.length, "copy", "copies")} inside ranks` : null;
  const ends = label ? ranks.flatMap((rank) => [{ rank, y: 1, dy: -13 }, { rank, y: 0, dy: 13 }]) : [];
  return Plot.plot({
    width,
    height: Math.min(320, Math.max(200, width * 0.4)),
    marginLeft: 64,
    marginRight: 16,
    marginTop: 26,
    marginBottom: 34,
    x: { domain: [-0.7, schedule.ranks - 0.3], label: label ? null : "rank", axis: label ? null : "bottom", tickFormat: (t) => (Number.isInteger(t) ? String(t) : "") },
    y: { domain: [0, 1], ticks: [0, 1], tickFormat: (y) => (y === 1 ? "senders" : "receivers"), label: null, tickSize: 0 },
    color: { domain: ["inside a node", "between nodes"], range: [INSIDE, BETWEEN], legend: schedule.nodes > 1 && schedule.perNode > 1 },
    marks: [
      Plot.rect(nodes, { x1: "x1", x2: "x2", y1: -0.08, y2: 1.08, fill: "currentColor", fillOpacity: 0.06, rx: 4, clip: false }),
      nodes.length && !idle && width / nodes.length > 40 ? Plot.text(nodes, { x: (n) => (n.x1 + n.x2) / 2, y: 0.5, text: (n) => `node ${n.node}`, fill: "currentColor", fillOpacity: 0.55 }) : null,
      idle ? Plot.text([idle], { x: () => (schedule.ranks - 1) / 2, y: 0.5, text: (t) => t, fill: "currentColor", fontSize: 13, stroke: "var(--card)", strokeWidth: 5 }) : null,
      Plot.link(shown, {
        x1: "from",
        x2: "to",
        y1: 1,
        y2: 0,
        curve: "bump-y",
        stroke: (m) => (m.between && schedule.perNode > 1 ? "between nodes" : "inside a node"),
        strokeWidth: (m) => 0.8 + 3 * Math.sqrt(m.bytes / most),
        strokeOpacity: shown.length > 400 ? 0.25 : 0.8,
      }),
      Plot.dot(ranks.flatMap((rank) => [{ rank, y: 1 }, { rank, y: 0 }]), { x: "rank", y: "y", r: Math.max(1.5, Math.min(7, width / schedule.ranks / 4)), fill: "var(--card)", stroke: "currentColor" }),
      Plot.text(ends.filter((e) => e.y === 1), { x: "rank", y: "y", text: (e) => String(e.rank), dy: -14, fill: "currentColor" }),
      Plot.text(ends.filter((e) => e.y === 0), { x: "rank", y: "y", text: (e) => String(e.rank), dy: 14, fill: "currentColor" }),
      Plot.tip(shown, Plot.pointer({ x: (m) => (m.from + m.to) / 2, y: 0.5, channels: { message: (m) => `${m.from} to ${m.to}`, bytes: (m) => count(m.bytes), carries: (m) => told(m) }, format: { x: false, y: false } })),
    ],
  });
}

function scratchPlot(schedule, index, width) {
  if (!schedule.rounds.some((r) => r.scratch.length)) return null;
  const most = Math.max(...schedule.rounds.flatMap((r) => r.scratch.map((s) => s.bytes)), 1);
  const now = schedule.rounds[index]?.scratch ?? [];
  return Plot.plot({
    width,
    height: 120,
    marginLeft: 64,
    marginRight: 16,
    x: { domain: [-0.7, schedule.ranks - 0.3], label: "rank", ticks: Math.min(schedule.ranks, 10), tickFormat: (t) => (Number.isInteger(t) ? String(t) : "") },
    y: { domain: [0, most], label: "in scratch after it", tickFormat: bytes, ticks: byteTicks(most, 3), grid: true },
    marks: [
      Plot.rectY(now, { x1: (s) => s.rank - 0.35, x2: (s) => s.rank + 0.35, y: "bytes", fill: "var(--c2)", channels: { rank: "rank", exact: "bytes" }, tip: { format: { x: false, y: false, exact: (v) => bytes(v) } } }),
      Plot.ruleY([0]),
    ],
  });
}

function linkPlot(schedule, index, width) {
  const links = schedule.rounds[index]?.links.filter((l) => l.from !== l.to) ?? [];
  if (schedule.nodes < 2 || schedule.perNode < 2 || !links.length) return null;
  const rows = links.map((l) => ({ ...l, link: `node ${l.from} → ${l.to}` })).sort((a, b) => b.bytes - a.bytes).slice(0, 12);
  return Plot.plot({
    width,
    height: 44 + 20 * rows.length,
    marginLeft: 110,
    marginRight: 16,
    x: { label: "bytes over the link", tickFormat: bytes, grid: true, ticks: byteTicks(rows[0].bytes) },
    y: { domain: rows.map((r) => r.link), label: null },
    marks: [Plot.barX(rows, { y: "link", x: "bytes", fill: BETWEEN, channels: { messages: "messages" }, tip: true }), Plot.ruleX([0])],
  });
}

function one(state) {
  const { note } = state.schedule;
  if (!state.schedule.rounds.length) {
    const text = note ?? "Nothing is sent: there are no rounds to draw.";
    return { element: h("p", { class: "note" }, text), refresh() {} };
  }
  const fig = figure({
    title: "Round by round",
    min: 300,
    note: () => {
      const { schedule, step } = state;
      const round = schedule.rounds[step];
      const t = schedule.totals;
      const sent = (n) => (schedule.throughMemory ? counted(n, "block") : counted(n, "message"));
      const now = round
        ? `Round ${step + 1} of ${t.rounds}: ${sent(round.messages.length)}, ${bytes(round.messages.reduce((n, m) => n + m.bytes, 0))}, ${counted(round.copies.length, "copy", "copies")}.`
        : `It has ended after ${counted(t.rounds, "round")}.`;
      const way = schedule.throughMemory ? " Blocks go through memory that the ranks share: lines are what a receiver reads, no messages." : "";
      return `${now}${way} In all ${sent(t.messages)} of ${bytes(t.bytes)}, ${bytes(t.copied)} copied inside ranks${schedule.memory !== null ? `, ${bytes(schedule.memory)} of scratch memory` : ""}.`;
    },
    draw: (width) => h("div", {}, [roundPlot, scratchPlot, linkPlot].map((f) => f(state.schedule, state.step, width)).filter(Boolean)),
    table: () => ({
      columns: [
        { key: "round", label: "round" },
        { key: "from", label: "sender" },
        { key: "to", label: "receiver" },
        { key: "bytes", label: "bytes" },
        { key: "between", label: "between nodes" },
        { key: "carries", label: "carries" },
      ],
      rows: state.schedule.rounds.flatMap((r) => r.messages.map((m) => ({ round: r.index + 1, from: m.from, to: m.to, bytes: m.bytes, between: m.between ? "yes" : "no", carries: told(m, 64) }))),
    }),
  });
  return fig;
}

// What the picture holds for, beside it; without rounds it stands in their place.
function caveat({ note, rounds }) {
  return note && rounds.length ? h("p", { class: "note" }, note) : null;
}

function rounds(all) {
  const left = { schedule: all[0], step: 0 };
  const right = { schedule: all.length > 1 ? all[1] : null, step: 0 };
  const root = h("div", {});
  const options = all.map((s, i) => ({ value: i, label: s.label }));
  function build() {
    const states = [left, right].filter((s) => s.schedule);
    const figures = states.map(one);
    const steps = Math.max(...states.map((s) => s.schedule.rounds.length), 1);
    const play = player(steps, (v) => `round ${v + 1} of ${steps}`, (v) => {
      for (const s of states) s.step = v;
      for (const f of figures) f.refresh();
    });
    // Rounds of copies alone are not a picture to begin with.
    const start = Math.max(0, Math.max(...states.map((s) => s.schedule.rounds.findIndex((r) => r.messages.length > 0))));
    for (const s of states) s.step = start;
    play.set(start);
    root.replaceChildren(
      h(
        "div",
        { class: "controls" },
        choice("Schedule", options, all.indexOf(left.schedule), (v) => {
          left.schedule = all[Number(v)];
          build();
        }),
        all.length > 1
          ? choice("beside", [{ value: -1, label: "none" }, ...options], right.schedule ? all.indexOf(right.schedule) : -1, (v) => {
              right.schedule = Number(v) < 0 ? null : all[Number(v)];
              build();
            })
          : null,
      ),
      play.element,
      h("div", { class: "grid" }, figures.map((f, i) => h("div", {}, h("h3", {}, states[i].schedule.label), caveat(states[i].schedule), f.element))),
    );
  }
  build();
  return root;
}

export function schedule(model) {
  return h("div", {}, model.schedules.length ? rounds(model.schedules) : null, model.strips.map((s) => strips(s)));
}
