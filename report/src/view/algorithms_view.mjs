import * as Plot from "@observablehq/plot";
import { casesOf, crossovers, curvesOf, firstShown } from "../data/algorithms.mjs";
import { byteTicks, bytes, seconds, short } from "../data/format.mjs";
import { legend, roomFor, styles } from "./curves.mjs";
import { choice, h } from "./dom.mjs";
import { figure } from "./figure.mjs";

const COLUMNS = [
  { key: "algorithm", label: "algorithm" },
  { key: "basis", label: "basis" },
  { key: "ranks", label: "ranks" },
  { key: "bytes", label: "bytes per rank" },
  { key: "time", label: "time (s)" },
  { key: "low", label: "95% from (s)" },
  { key: "high", label: "95% to (s)" },
  { key: "ratio", label: "ratio to native" },
  { key: "memory", label: "scratch memory (bytes)" },
  { key: "limit", label: "allowed (bytes)" },
  { key: "wrong", label: "wrong bytes" },
  { key: "file", label: "file" },
];

const viewLabel = (v) =>
  v.axis === "bytes" ? `by bytes, ${v.fixed} ranks` : v.axis === "ranks" ? `by ranks, ${bytes(v.fixed)} per rank` : v.fixed;

const VALUES = {
  time: { label: "time of an exchange", format: seconds, title: "Time" },
  ratio: { label: "time over native's", format: (v) => short(v), title: "Ratio to the MPI library's own" },
  memory: { label: "scratch memory", format: bytes, title: "Scratch memory" },
};

// Names beside the ends of curves, moved apart where they would touch. What does not reach the end has no name there.
function namesAtEnds(curves, axis, key, last, log, height, values) {
  const least = log ? Math.min(...values.filter((v) => v > 0)) : 0;
  const most = Math.max(...values);
  const forth = log ? Math.log : (v) => v;
  const back = log ? Math.exp : (v) => v;
  const unit = (forth(most) - forth(least)) / height || 1; // of a pixel
  const ends = new Map();
  for (const c of curves) {
    const end = c.points.find((p) => p[axis] === last && Number.isFinite(p[key]) && (!log || p[key] > 0));
    if (end && !ends.has(c.algorithm)) ends.set(c.algorithm, forth(end[key]));
  }
  const names = [...ends].map(([algorithm, at]) => ({ algorithm, at })).sort((a, b) => a.at - b.at);
  for (let i = 1; i < names.length; ++i) names[i].at = Math.max(names[i].at, names[i - 1].at + 13 * unit);
  const over = names.length ? names.at(-1).at - forth(most) : 0;
  if (over > 0) {
    names.at(-1).at -= over;
    for (let i = names.length - 2; i >= 0; --i) names[i].at = Math.min(names[i].at, names[i + 1].at - 13 * unit);
  }
  return names.map((n) => ({ algorithm: n.algorithm, y: back(n.at) }));
}

// Measured points with a line, their intervals, and predictions as dashes.
function lines(state, key, width) {
  const { axis } = state.view;
  const logY = state.logY && key !== "memory";
  const shown = state.curves.filter((c) => state.shown.has(c.algorithm));
  const points = shown.flatMap((c) =>
    c.points.filter((p) => Number.isFinite(p[key]) && (!logY || p[key] > 0) && (!state.logX || p[axis] > 0)).map((p) => ({ ...p, curve: `${c.algorithm} (${c.basis})` })),
  );
  if (!points.length) return null;
  const measured = points.filter((p) => p.basis === "measured");
  const predicted = points.filter((p) => p.basis === "predicted");
  const colour = (p) => state.style.get(p.algorithm).colour;
  const channels = {
    algorithm: "algorithm",
    basis: "basis",
    [axis]: { value: axis, label: axis === "bytes" ? "bytes per rank" : "ranks" },
    exact: { value: key, label: VALUES[key].label },
    interval: { value: (p) => (key === "time" && p.low !== null ? `${seconds(p.low)} to ${seconds(p.high)}` : "–"), label: "95%" },
  };
  const limits = key === "memory" ? [...new Set(points.map((p) => p.limit).filter((l) => Number.isFinite(l)))] : [];
  const crossings = key === "time" ? crossovers(shown, axis) : [];
  const last = Math.max(...points.map((p) => p[axis]));
  const height = Math.max(300, Math.min(440, width * 0.55));
  const names = width < 480 ? [] : namesAtEnds(shown, axis, key, last, logY, height - 80, [...points.map((p) => p[key]), ...limits, ...(key === "time" ? measured.flatMap((p) => (p.low ? [p.low, p.high] : [])) : [])]);
  return Plot.plot({
    width,
    height,
    marginLeft: 70,
    marginRight: names.length ? 130 : 24,
    marginBottom: 44,
    x: {
      type: state.logX ? "log" : "linear",
      base: 2,
      label: axis === "bytes" ? "bytes that a rank sends" : "ranks",
      tickFormat: axis === "bytes" ? bytes : (v) => short(v),
      ticks: Math.max(3, Math.floor(width / 90)),
      grid: true,
    },
    y: {
      type: logY ? "log" : "linear",
      label: VALUES[key].label,
      tickFormat: VALUES[key].format,
      ticks: key === "memory" ? byteTicks(Math.max(...points.map((p) => p.memory), ...limits)) : 6,
      grid: true,
      zero: !logY,
    },
    marks: [
      key === "ratio" ? Plot.ruleY([1], { stroke: "currentColor", strokeWidth: 1.5 }) : null,
      limits.length ? Plot.ruleY(limits, { stroke: "var(--c1)", strokeWidth: 2, strokeDasharray: "8 4" }) : null,
      limits.length ? Plot.text(limits, { y: (l) => l, frameAnchor: "right", text: (l) => `allowed: ${bytes(l)}`, dy: -8, textAnchor: "end", fill: "currentColor" }) : null,
      crossings.length ? Plot.ruleX(crossings, { x: "at", stroke: "currentColor", strokeOpacity: 0.35, strokeDasharray: "2 4" }) : null,
      Plot.line(measured, { x: axis, y: key, z: "curve", stroke: colour, strokeWidth: 1.8 }),
      Plot.line(predicted, { x: axis, y: key, z: "curve", stroke: colour, strokeWidth: 1.8, strokeDasharray: "6 4" }),
      key === "time" ? Plot.ruleX(measured.filter((p) => p.low !== null), { x: axis, y1: "low", y2: "high", stroke: colour, strokeWidth: 2.5, strokeOpacity: 0.5 }) : null,
      Plot.dot(measured, { x: axis, y: key, symbol: (p) => state.style.get(p.algorithm).symbol, fill: colour, stroke: colour, r: 4 }),
      Plot.dot(predicted, { x: axis, y: key, symbol: (p) => state.style.get(p.algorithm).symbol, stroke: colour, fill: "var(--card)", r: 3 }),
      names.length ? Plot.text(names, { x: () => last, y: "y", text: "algorithm", textAnchor: "start", dx: 9, fill: colour, fontSize: 11 }) : null,
      Plot.tip(points, Plot.pointer({ x: axis, y: key, channels, format: { x: false, y: false, exact: (v) => VALUES[key].format(v), bytes: (v) => `${v.toLocaleString("en-US")}`, ranks: true } })),
    ],
    symbol: { type: "identity" },
  });
}

// One size and one number of ranks: a line for each algorithm.
function list(state, key, width) {
  const points = state.view.points.filter((p) => state.shown.has(p.algorithm) && Number.isFinite(p[key])).sort((a, b) => a[key] - b[key]);
  if (!points.length) return null;
  const name = (p) => p.algorithm; // measured and predicted in one row
  const order = [...new Set(points.map(name))];
  const limits = key === "memory" ? [...new Set(points.map((p) => p.limit).filter((l) => Number.isFinite(l)))] : [];
  const colour = (p) => state.style.get(p.algorithm).colour;
  return Plot.plot({
    width,
    height: 60 + 26 * order.length,
    marginLeft: roomFor(order, width),
    marginRight: 24,
    x: { type: state.logX && key !== "memory" ? "log" : "linear", label: VALUES[key].label, tickFormat: VALUES[key].format, grid: true, ticks: key === "memory" ? byteTicks(Math.max(...points.map((p) => p[key]), ...limits)) : Math.max(3, Math.floor(width / 110)), nice: key !== "memory", zero: key === "memory" },
    y: { domain: order, label: null },
    symbol: { type: "identity" },
    marks: [
      key === "ratio" ? Plot.ruleX([1], { stroke: "currentColor" }) : null,
      limits.length ? Plot.ruleX(limits, { stroke: "var(--c1)", strokeWidth: 2, strokeDasharray: "8 4" }) : null,
      key === "time" ? Plot.link(points.filter((p) => p.low !== null), { x1: "low", x2: "high", y1: name, y2: name, stroke: colour, strokeWidth: 6, strokeOpacity: 0.35 }) : null,
      Plot.dot(points, {
        x: key,
        y: name,
        r: 5,
        symbol: (p) => state.style.get(p.algorithm).symbol,
        stroke: colour,
        fill: (p) => (p.basis === "measured" ? colour(p) : "none"),
        channels: {
          exact: { value: key, label: VALUES[key].label },
          interval: { value: (p) => (p.low !== null ? `${seconds(p.low)} to ${seconds(p.high)}` : "–"), label: "95% of the time" },
          chosen: { value: "chosen", label: "took" },
        },
        tip: { format: { x: false, exact: (v) => VALUES[key].format(v), symbol: false, fill: false, stroke: false } },
      }),
    ],
  });
}

function crossingNote(state) {
  if (!state.view.axis) return "Filled: measured; bars: 95% confidence intervals of the median. Hollow: predicted by the model.";
  const found = crossovers(state.curves.filter((c) => state.shown.has(c.algorithm)), state.view.axis);
  const place = (v) => (state.view.axis === "bytes" ? bytes(v) : `${short(v)} ranks`);
  const words = found.slice(0, 6).map((c) => `from ${place(c.at)} ${c.to} is faster than ${c.from}${c.basis === "predicted" ? " (predicted)" : ""}`);
  return `Lines: measured; dashes: predicted by the model, without the agreement that a blocking call begins with; bars: 95% confidence intervals.${words.length ? ` Dotted: ${words.join("; ")}.` : ""}`;
}

const memoryNote = (points) =>
  `The most that taquin held on any rank, beside the data; dashes: what was allowed. The MPI library's own buffers are not in it.${points.some((p) => p.inPlace && p.algorithm === "native") ? " native: the second buffer that it receives into." : ""}`;

export function algorithms(model) {
  const cases = casesOf(model.points);
  const state = { logX: true, logY: true };
  const root = h("div", {});
  function select(caseIndex, viewIndex) {
    state.caseIndex = caseIndex;
    state.viewIndex = viewIndex;
    state.view = cases[caseIndex].views[viewIndex];
    state.curves = curvesOf(state.view);
    state.shown = firstShown(state.curves);
    state.style = styles(state.curves.map((c) => c.algorithm), state.shown);
  }
  // The plot that says most: the case with the most points.
  const start = cases.reduce((best, c, i) => (c.views[0].points.length > cases[best].views[0].points.length ? i : best), 0);
  select(start, 0);
  function build() {
    const make = (key) =>
      figure({
        title: VALUES[key].title,
        note: () => (key === "time" ? crossingNote(state) : key === "memory" ? memoryNote(state.view.points) : "Below 1: faster than the MPI library."),
        draw: (width) => (state.view.axis ? lines(state, key, width) : list(state, key, width)),
        table: () => ({ columns: COLUMNS, rows: state.view.points }),
      });
    const figures = ["time", "ratio", "memory"].filter((key) => state.view.points.some((p) => Number.isFinite(p[key]))).map(make);
    const refresh = () => figures.forEach((f) => f.refresh());
    const names = [...new Set(state.curves.map((c) => c.algorithm))];
    const axes = choice(
      "Axes",
      [
        { value: "log", label: "logarithmic" },
        { value: "linear", label: "linear" },
      ],
      state.logX ? "log" : "linear",
      (v) => {
        state.logX = v === "log";
        state.logY = v === "log";
        refresh();
      },
    );
    root.replaceChildren(
      h(
        "div",
        { class: "controls" },
        choice("Exchange", cases.map((c, i) => ({ value: i, label: c.label })), state.caseIndex, (v) => {
          select(Number(v), 0);
          build();
        }),
        cases[state.caseIndex].views.length > 1
          ? choice("View", cases[state.caseIndex].views.map((v, i) => ({ value: i, label: viewLabel(v) })), state.viewIndex, (v) => {
              select(state.caseIndex, Number(v));
              build();
            })
          : h("p", { class: "note" }, viewLabel(state.view)),
        axes,
      ),
      legend(names, state.style, state.shown, refresh),
      h("div", { class: "grid" }, figures.map((f) => f.element)),
      unserved(),
    );
  }
  function unserved() {
    const missing = model.unserved.filter((u) => u.label === cases[state.caseIndex].label);
    if (!missing.length) return "";
    return h("details", {}, h("summary", {}, `Algorithms that cannot serve this exchange: ${missing.length}`), h("ul", {}, missing.map((u) => h("li", {}, `${u.algorithm}: ${u.reason}`))));
  }
  build();
  return root;
}
