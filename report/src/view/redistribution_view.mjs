import * as Plot from "@observablehq/plot";
import { groupBy } from "../data/algorithms.mjs";
import { byteTicks, bytes, count, seconds, short } from "../data/format.mjs";
import { MEASURES } from "../data/redistribution.mjs";
import { legend, roomFor, styles } from "./curves.mjs";
import { choice, h } from "./dom.mjs";
import { figure } from "./figure.mjs";

function overTime(runs, style, shown) {
  const points = runs.flatMap((r) => r.points);
  const blocks = [...new Set(runs.map((r) => r.blocks))].join(" or ");
  return MEASURES.filter((m) => points.some((p) => p[m.key] > 0)).map((m) => {
    const unit = m.bytes ? bytes : (v) => short(v);
    return figure({
      title: m.label,
      note: () => `All ranks together, event by event, from a run of all ranks in one process with ${blocks} blocks a rank. Events are messages and transfers, not seconds.`,
      draw: (width) => {
        const some = points.filter((p) => shown.has(p.algorithm));
        if (!some.length) return null;
        return Plot.plot({
          width,
          height: 220,
          marginLeft: 64,
          marginRight: 20,
          x: { label: "event" },
          y: { label: null, grid: true, zero: true, tickFormat: unit, ticks: m.bytes ? byteTicks(Math.max(...some.map((p) => p[m.key]))) : 5 },
          marks: [
            Plot.line(some, { x: "step", y: m.key, z: "algorithm", stroke: (p) => style.get(p.algorithm).colour, strokeWidth: 1.8, curve: "step-after" }),
            Plot.dot(runs.filter((r) => shown.has(r.algorithm)).map((r) => r.points.at(-1)), { x: "step", y: m.key, symbol: (p) => style.get(p.algorithm).symbol, fill: (p) => style.get(p.algorithm).colour, r: 4 }),
            Plot.tip(some, Plot.pointerX({ x: "step", y: m.key, channels: { algorithm: "algorithm", exact: { value: m.key, label: m.label } }, format: { y: false, exact: (v) => (m.bytes ? `${count(v)} bytes` : count(v)) } })),
            Plot.ruleY([0]),
          ],
          symbol: { type: "identity" },
        });
      },
      table: () => ({
        columns: [{ key: "algorithm", label: "algorithm" }, { key: "step", label: "event" }, ...MEASURES.map((x) => ({ key: x.key, label: x.label.split(":")[0] }))],
        rows: points,
      }),
    });
  });
}

const RECORDS = [
  { key: "time", title: "Time", label: "time", format: seconds },
  { key: "memory", title: "Scratch memory", label: "scratch memory", format: bytes },
  { key: "copied", title: "Bytes copied inside ranks", label: "copied", format: bytes },
];

function measured(records, style) {
  return RECORDS.filter((m) => records.some((r) => Number.isFinite(r[m.key]))).map((m) =>
    figure({
      title: m.title,
      note: () => (m.key === "time" ? "Median; bars: 95% confidence intervals. native: the MPI library's exchange of as many bytes, out of place." : m.key === "memory" ? "The most of any rank, beside the data. native: the second buffer that it receives into." : "The most of any rank."),
      draw: (width) => {
        const rows = records.filter((r) => Number.isFinite(r[m.key])).sort((a, b) => a[m.key] - b[m.key]);
        // One long time, or its interval, would leave the others no room.
        const ends = rows.flatMap((r) => [r.low, r.high]);
        const wide = m.key === "time" && Math.max(...ends) > 30 * Math.min(...ends);
        return Plot.plot({
          width,
          height: 56 + 26 * rows.length,
          marginLeft: roomFor(rows.map((r) => r.algorithm), width),
          marginRight: 20,
          x: { type: wide ? "log" : "linear", label: `${m.label}${wide ? ", logarithmic" : ""}`, tickFormat: m.format, grid: true, zero: !wide, ticks: m.format === bytes ? byteTicks(Math.max(...rows.map((r) => r[m.key]))) : Math.max(3, Math.floor(width / 110)) },
          y: { domain: rows.map((r) => r.algorithm), label: null },
          marks: [
            (wide ? Plot.dot : Plot.barX)(rows, { ...(wide ? { r: 5 } : {}), y: "algorithm", x: m.key, fill: (r) => style.get(r.algorithm).colour, channels: { exact: { value: m.key, label: m.label } }, tip: { format: { x: false, fill: false, exact: (v) => m.format(v) } } }),
            m.key === "time" ? Plot.ruleY(rows, { y: "algorithm", x1: "low", x2: "high", stroke: "currentColor", strokeWidth: 3 }) : null,
            wide ? null : Plot.ruleX([0]),
          ],
        });
      },
      table: () => ({
        columns: ["algorithm", "time", "low", "high", "ratio", "memory", "copied", "sent", "messages", "file"].map((key) => ({ key, label: key })),
        rows: records,
      }),
    }),
  );
}

export function redistribution(model) {
  const names = [...model.steps.map((r) => r.algorithm), ...model.redistributions.map((r) => r.algorithm)];
  const style = styles(names);
  const root = h("div", {});
  const groups = [...groupBy([...model.steps.map((s) => ({ ...s, over: true })), ...model.redistributions], (r) => r.label)];
  let chosen = 0;
  function build() {
    const [, all] = groups[chosen];
    const runs = all.filter((r) => r.over);
    const records = all.filter((r) => !r.over);
    const shown = new Set(runs.map((r) => r.algorithm));
    const figures = [...measured(records, style), ...overTime(runs, style, shown)];
    root.replaceChildren(
      h(
        "div",
        { class: "controls" },
        choice("Blocks", groups.map(([label], i) => ({ value: i, label })), chosen, (v) => {
          chosen = Number(v);
          build();
        }),
      ),
      runs.length > 1 ? legend([...shown], style, shown, () => figures.forEach((f) => f.refresh())) : "",
      h("div", { class: "grid" }, figures.map((f) => f.element)),
    );
  }
  build();
  return root;
}
