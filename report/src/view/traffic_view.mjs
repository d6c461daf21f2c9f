import * as Plot from "@observablehq/plot";
import { byteTicks, bytes, count, counted, percent, seconds } from "../data/format.mjs";
import { addUp, imbalance, spreadWide, sum, tellingSite } from "../data/traffic.mjs";
import { reasonsOf } from "../data/overview.mjs";
import { choice, h, slider } from "./dom.mjs";
import { figure } from "./figure.mjs";
import { heatmap } from "./heatmap.mjs";

const BLUE = "var(--c0)";
const ORANGE = "var(--c1)";
const MOST_DOTS = 2000;
const ROW = 44; // pixels of a call site: its name above its bar

const sizeLabel = (s) => (s.from === 0 ? "empty" : bytes(s.from));

/// Blocks by size.
function distribution(get) {
  return figure({
    title: "Sizes of blocks",
    note: () => {
      const sizes = get().site.sizes;
      const blocks = sum(sizes.map((s) => s.blocks));
      const none = sum(sizes.filter((s) => s.from === 0).map((s) => s.blocks));
      return blocks > 0 ? `${counted(blocks, "block")}, ${percent(none / blocks)} of them empty. Each bar holds sizes up to twice its label.${get().source.kind === "report" ? " Bytes are estimated from the bars' sizes." : ""}` : "The file does not tell.";
    },
    draw: (width) => {
      const sizes = get().site.sizes;
      if (!sizes.length) return null;
      const blocks = sum(sizes.map((s) => s.blocks)) || 1;
      const held = sum(sizes.map((s) => s.bytes)) || 1;
      const bars = sizes.flatMap((s) => [
        { size: sizeLabel(s), what: "of the blocks", part: s.blocks / blocks, exact: `${count(s.blocks)} blocks` },
        { size: sizeLabel(s), what: "of the bytes", part: s.bytes / held, exact: `${count(s.bytes)} bytes` },
      ]);
      return Plot.plot({
        width,
        height: 260,
        marginLeft: 48,
        marginBottom: 60,
        x: { axis: null, domain: ["of the blocks", "of the bytes"] },
        fx: { domain: sizes.map(sizeLabel), label: "block size", tickRotate: sizes.length > 7 ? -40 : 0 },
        y: { label: "part of all", percent: true, grid: true, tickFormat: (part) => `${part}%` },
        color: { domain: ["of the blocks", "of the bytes"], range: [BLUE, ORANGE], legend: true },
        marks: [
          Plot.barY(bars, { x: "what", fx: "size", y: "part", fill: "what", channels: { figure: "exact" }, tip: { format: { fx: true, x: false, fill: false } } }),
          Plot.ruleY([0]),
        ],
      });
    },
    table: () => ({
      columns: [
        { key: "from", label: "bytes from" },
        { key: "to", label: "bytes below" },
        { key: "blocks", label: "blocks" },
        { key: "bytes", label: "bytes in all" },
      ],
      rows: get().site.sizes,
    }),
  });
}

/// A few ranks of many, the busiest among them.
function thinned(points) {
  if (points.length <= MOST_DOTS) return points;
  const step = Math.ceil(points.length / MOST_DOTS);
  const kept = [];
  for (let i = 0; i < points.length; i += step) {
    let most = points[i];
    for (const p of points.slice(i, i + step)) if (p.value > most.value) most = p;
    kept.push(most);
  }
  return kept;
}

const sides = (site) =>
  [
    { what: "sent", values: site.sent, unit: bytes },
    { what: "received", values: site.received, unit: bytes },
    { what: "late by, on average", values: site.arrival, unit: seconds },
  ].filter((s) => s.values?.length);

/// Who sends, receives and waits more than others.
function balance(get) {
  return figure({
    title: "Balance over ranks",
    note: () => {
      const list = sides(get().site);
      return list.length
        ? list.map((s) => `${s.what}: the largest is ${imbalance(s.values).toFixed(2)} times the mean`).join("; ") + ". Lines: the mean."
        : "The file does not tell.";
    },
    draw: (width) => {
      const list = sides(get().site);
      if (!list.length) return null;
      return h(
        "div",
        {},
        list.map((s, i) => {
          const points = thinned(s.values.map ? Array.from(s.values, (value, rank) => ({ rank, value })) : []);
          return Plot.plot({
            width,
            height: 150,
            marginLeft: 70,
            x: { label: i + 1 === list.length ? "rank" : null, domain: [-0.5, s.values.length - 0.5], ticks: Math.min(10, s.values.length), tickFormat: (t) => (Number.isInteger(t) ? String(t) : "") },
            y: { label: s.what, grid: true, zero: true, tickFormat: s.unit, ticks: s.unit === bytes ? byteTicks(Math.max(...points.map((p) => p.value)), 3) : 4 },
            marks: [
              points.length <= 64
                ? Plot.rectY(points, { x1: (d) => d.rank - 0.4, x2: (d) => d.rank + 0.4, y: "value", fill: [BLUE, ORANGE, "var(--c2)"][i], channels: { rank: "rank", exact: "value" }, tip: { format: { x: false, y: false, exact: (v) => s.unit(v) } } })
                : Plot.areaY(points, { x: "rank", y: "value", curve: "step", fill: ["var(--c0)", "var(--c1)", "var(--c2)"][i], channels: { exact: "value" }, tip: { format: { y: false, exact: (v) => s.unit(v) } } }),
              Plot.ruleY([sum(s.values) / s.values.length], { stroke: "currentColor", strokeDasharray: "4 3" }),
              Plot.ruleY([0]),
            ],
          });
        }),
      );
    },
    table: () => {
      const { site } = get();
      const ranks = Math.max(site.sent.length, site.received.length, site.arrival?.length ?? 0);
      return {
        columns: [
          { key: "rank", label: "rank" },
          { key: "sent", label: "bytes sent" },
          { key: "received", label: "bytes received" },
          ...(site.arrival ? [{ key: "late", label: "late by (s, mean)" }] : []),
        ],
        rows: Array.from({ length: ranks }, (_, rank) => ({ rank, sent: site.sent[rank], received: site.received[rank], late: site.arrival?.[rank] })),
      };
    },
  });
}

/// Bytes and time call by call.
function evolution(get) {
  return figure({
    title: "Call by call",
    note: () => {
      const { site, source } = get();
      if (!site.evolution.length) return "The file does not tell.";
      return `${counted(site.evolution.length, "entry", "entries")}, in the program's order; equal calls in a row are one.${source.callsLeftOut > 0 ? ` ${source.callsLeftOut} later entries are left out.` : ""}`;
    },
    draw: (width) => {
      const { site } = get();
      if (!site.evolution.length) return null;
      const chosen = get().call;
      const calls = site.evolution.map((c) => ({ ...c, end: c.at + c.repeats }));
      const one = (key, label, unit, colour) =>
        Plot.plot({
          width,
          height: 130,
          marginLeft: 70,
          x: { label: key === "bytes" ? null : "call" },
          y: spreadWide(calls.map((c) => c[key]))
            ? { type: "log", label: `${label}, logarithmic`, grid: true, tickFormat: unit, ticks: 4 }
            : { label, grid: true, zero: true, tickFormat: unit, ticks: unit === bytes ? byteTicks(Math.max(...calls.map((c) => c.bytes)), 3) : 4 },
          marks: [
            chosen ? Plot.rectX([chosen], { x1: "at", x2: (c) => c.at + c.repeats, fill: "currentColor", fillOpacity: 0.15 }) : null,
            Plot.ruleY(calls, { y: key, x1: "at", x2: "end", stroke: colour, strokeWidth: 2 }),
            Plot.dot(calls, {
              x: "at",
              y: key,
              fill: colour,
              r: calls.length > 200 ? 1.5 : 3,
              channels: { exact: key, repeats: "repeats" },
              tip: { format: { y: false, exact: (v) => unit(v) } },
            }),
            spreadWide(calls.map((c) => c[key])) ? null : Plot.ruleY([0]),
          ],
        });
      const waits = calls.some((c) => Number.isFinite(c.waiting));
      return h("div", {}, one("bytes", "bytes of a call", bytes, BLUE), one("mean", "time", seconds, ORANGE), waits ? one("waiting", "of it waiting", seconds, "var(--c2)") : null);
    },
    table: () => ({
      columns: [
        { key: "at", label: "call" },
        { key: "repeats", label: "repeats" },
        { key: "bytes", label: "bytes" },
        { key: "min", label: "least time (s)" },
        { key: "mean", label: "mean time (s)" },
        { key: "max", label: "most time (s)" },
        { key: "waiting", label: "waiting (s)" },
      ],
      rows: get().site.evolution,
    }),
  });
}

function siteTable(get) {
  return figure({
    title: "Call sites",
    min: 0,
    note: () => {
      const { sites, totals } = get().source;
      const all = sum(sites.map((s) => s.seconds));
      const apart = totals.seconds !== null && Math.abs(all - totals.seconds) > 0.01 * all;
      return `The time of a call site is its slowest rank's.${apart ? ` They add up to ${seconds(all)}, because different sites have different slowest ranks; no rank spent more than ${seconds(totals.seconds)} in all.` : ""}`;
    },
    draw: (width) => {
      const { sites } = get().source;
      const bars = [...sites].sort((a, b) => b.seconds - a.seconds).slice(0, 20);
      const most = Math.floor(width / 6.6); // letters
      const shorter = (text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
      const parts = bars.flatMap((s) =>
        s.waiting !== null
          ? [
              { site: s.index, part: "waiting", value: s.waiting },
              { site: s.index, part: "transfer", value: Math.max(0, s.seconds - s.waiting) },
            ]
          : [{ site: s.index, part: "waiting and transfer", value: s.seconds }],
      );
      return Plot.plot({
        width,
        height: 50 + ROW * bars.length,
        marginTop: 20,
        marginBottom: 30,
        marginLeft: 16,
        marginRight: 24,
        y: { domain: bars.map((s) => s.index), axis: null, padding: 0 },
        x: { label: "time", tickFormat: seconds, grid: true, ticks: Math.max(2, Math.floor(width / 130)) },
        color: { domain: ["waiting", "transfer", "waiting and transfer"].filter((n) => parts.some((p) => p.part === n)), range: parts.some((p) => p.part === "waiting") ? [ORANGE, BLUE, "var(--c6)"] : [BLUE], legend: true },
        marks: [
          Plot.barX(parts, { y: "site", x: "value", fill: "part", insetTop: 20, insetBottom: 4, channels: { exact: "value" }, tip: { format: { x: false, y: (i) => bars.find((s) => s.index === i)?.label, exact: (v) => seconds(v) } } }),
          Plot.ruleX([0]),
          // Last, so that nothing is drawn over it.
          Plot.text(bars, { y: "index", frameAnchor: "left", textAnchor: "start", dy: 11 - ROW / 2, dx: 4, text: (s) => shorter(s.label), fill: "currentColor", stroke: "var(--card)", strokeWidth: 4, fontSize: 12 }),
        ],
      });
    },
    table: () => ({
      columns: [
        { key: "label", label: "call site" },
        { key: "ranks", label: "ranks" },
        { key: "calls", label: "calls" },
        { key: "destinations", label: "destinations of a rank" },
        { key: "sources", label: "sources of a rank" },
        { key: "bytes", label: "bytes" },
        { key: "seconds", label: "time (s)" },
        { key: "waiting", label: "waiting (s)" },
        { key: "peak", label: "scratch memory (bytes)" },
        { key: "took", label: "algorithms" },
        { key: "fell", label: "left to the MPI library" },
      ],
      rows: get().source.sites.map((s) => ({
        ...s,
        took: s.algorithms.map((a) => `${a.name} ×${a.calls}`).join(", "),
        fell: reasonsOf(s).join("; "),
      })),
    }),
  });
}

export function traffic(model) {
  let source = model.sources[0];
  let site = tellingSite(source);
  let call = null;
  const sums = new Map();
  const root = h("div", {});
  const get = () => ({ source, site, call });
  const heat = () => {
    const key = `${source.name}/${site.index}`;
    if (call) {
      const matrix = addUp(source, [[call.matrix, 1]]);
      return matrix && { matrix, what: `Call ${call.at}: ${bytes(call.bytes)}` };
    }
    if (!sums.has(key)) {
      sums.clear();
      sums.set(key, addUp(source, site.matrices));
    }
    const matrix = sums.get(key);
    return matrix && { matrix, what: `All ${counted(site.calls, "call")} of ${site.label}` };
  };
  function build() {
    if (!source.sites.length) {
      root.replaceChildren(pickSource(), h("p", {}, "This file holds no call."));
      return [];
    }
    const figures = { map: heatmap(heat), sizes: distribution(get), balance: balance(get), calls: evolution(get) };
    const callControl =
      source.kind === "recording" && site.evolution.length > 1
        ? slider(
            "Heat map of",
            { min: -1, max: site.evolution.length - 1, value: -1, text: (v) => (v < 0 ? "all calls" : `call ${site.evolution[v].at}`) },
            (v) => {
              call = v < 0 ? null : site.evolution[v];
              figures.map.refresh();
              figures.calls.refresh();
            },
          )
        : null;
    root.replaceChildren(
      h(
        "div",
        { class: "controls" },
        pickSource(),
        choice("Calls", source.sites.map((s) => ({ value: s.index, label: `${s.label}: ${counted(s.calls, "call")}, ${bytes(s.bytes)}` })), site.index, (v) => {
          site = source.sites[Number(v)];
          call = null;
          build();
        }),
        callControl?.element,
      ),
      h("div", { class: "grid" }, figures.map.element, h("div", { class: "column" }, figures.sizes.element, figures.balance.element), figures.calls.element, siteTable(get).element),
    );
    return Object.values(figures);
  }
  function pickSource() {
    return model.sources.length > 1
      ? choice("File", model.sources.map((s, i) => ({ value: i, label: s.name.split("/").at(-1) })), model.sources.indexOf(source), (v) => {
          source = model.sources[Number(v)];
          site = tellingSite(source);
          call = null;
          build();
        })
      : null;
  }
  // Files without calls come last.
  source = model.sources.find((s) => s.sites.length) ?? source;
  site = tellingSite(source);
  build();
  return root;
}
