import * as Plot from "@observablehq/plot";
import { bytes, seconds } from "../data/format.mjs";
import { FAMILIES, shares } from "../data/regret.mjs";
import { legend, styles } from "./curves.mjs";
import { h } from "./dom.mjs";
import { figure } from "./figure.mjs";

const TICKS = [1, 32, 1024, 32768, 1048576, 33554432];
const ratio = (v) => v.toFixed(2);
const percent = (v) => `${(100 * v).toFixed(1)}%`;

const COLUMNS = [
  { key: "ratio", label: "ratio", format: ratio },
  { key: "low", label: "from", format: ratio },
  { key: "high", label: "to", format: ratio },
  { key: "family", label: "kind" },
  { key: "ranks", label: "ranks" },
  { key: "bytes", label: "bytes a rank", format: bytes },
  { key: "time", label: "time", format: seconds },
  { key: "algorithm", label: "algorithm" },
  { key: "rival", label: "rival" },
  { key: "command", label: "command" },
];

const SHARES = [
  { key: "family", label: "kind" },
  { key: "cells", label: "calls" },
  { key: "bound", label: "at most", format: ratio },
  { key: "share", label: "share", format: percent },
  { key: "median", label: "median", format: ratio },
  { key: "worst", label: "worst", format: ratio },
];

function summary(points) {
  const cells = (row) => SHARES.map((c) => h("td", { class: typeof row[c.key] === "number" ? "number" : null }, c.format ? c.format(row[c.key]) : String(row[c.key])));
  return h(
    "div",
    { class: "table", role: "region", tabindex: 0, "aria-label": "shares of random calls" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, SHARES.map((c) => h("th", { scope: "col" }, c.label)))),
      h("tbody", {}, shares(points).map((row) => h("tr", {}, cells(row)))),
    ),
  );
}

/// A random call is a point: its ratio to its rival over its size, one plot for each number of ranks.
export function regret(model) {
  const points = [...model.regrets].sort((a, b) => b.ratio - a.ratio);
  const families = FAMILIES.map((f) => f.label).filter((label) => points.some((p) => p.family === label));
  const style = styles(families);
  const shown = new Set(families);
  const some = () => points.filter((p) => shown.has(p.family));
  const colour = (p) => style.get(p.family).colour;
  const plots = figure({
    title: "Ratio to the rival",
    note: () => "A point for each random call: below 1 taquin was faster than its rival, which is the MPI library or, for auto, the fastest algorithm by name. Lines: 95% confidence intervals. The table begins with the worst, and has the command that repeats each.",
    draw: (width) => {
      const rows = some();
      if (!rows.length) return null;
      return Plot.plot({
        width,
        height: 170 * new Set(rows.map((p) => p.ranks)).size + 60,
        marginLeft: 64,
        marginRight: 50,
        x: { type: "log", label: "bytes a rank", tickFormat: bytes, ticks: TICKS },
        y: { type: "log", label: "ratio", grid: true, tickFormat: (v) => String(v), ticks: 5 },
        fy: { label: "ranks" },
        marks: [
          Plot.ruleY([1], { stroke: "currentColor" }),
          Plot.ruleX(rows, { fy: "ranks", x: "bytes", y1: "low", y2: "high", stroke: colour, strokeOpacity: 0.4 }),
          Plot.dot(rows, { fy: "ranks", x: "bytes", y: "ratio", fill: colour, symbol: (p) => style.get(p.family).symbol, r: 3, channels: { call: "cell", algorithm: "algorithm", rival: "rival" }, tip: { format: { fill: false, symbol: false } } }),
        ],
        symbol: { type: "identity" },
      });
    },
    table: () => ({ columns: COLUMNS, rows: some() }),
    min: 300,
  });
  const box = legend(families, style, shown, () => plots.refresh());
  return h("div", {}, summary(points), box, plots.element);
}
