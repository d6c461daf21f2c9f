// The buffer of one rank during in_place: pieces and holes, as in the sliding puzzle.
import * as Plot from "@observablehq/plot";
import { bytes, percent } from "../data/format.mjs";
import { settled } from "../data/strip.mjs";
import { choice, h } from "./dom.mjs";
import { figure } from "./figure.mjs";
import { player } from "./player.mjs";

const KINDS = ["still to be sent", "its own block", "arrived", "held in auxiliary memory"];
const COLOURS = ["var(--c1)", "var(--c4)", "var(--c0)", "var(--c2)"];

function kindOf(piece, rank) {
  if (piece.aux) return KINDS[3];
  if (piece.kind === "in") return KINDS[2];
  return piece.peer === rank ? KINDS[1] : KINDS[0];
}

function piecesOf(strip, rank, step) {
  return strip.steps[step].ranks[rank].map((p) => ({
    row: p.aux ? "auxiliary" : "buffer",
    from: p.at,
    to: p.at + p.length,
    kind: kindOf(p, rank),
    peer: p.peer,
    what: p.kind === "in" ? `from rank ${p.peer}` : `for rank ${p.peer}`,
    text: p.kind === "in" ? `←${p.peer}` : p.peer === rank ? "own" : `→${p.peer}`,
  }));
}

export function strips(strip) {
  let rank = 0;
  let step = 0;
  const draw = (width) => {
    const { units, aux } = strip.ranks[rank];
    const widest = Math.max(units, aux, 1);
    const pieces = piecesOf(strip, rank, step);
    const final = strip.final[rank].map(([at, length, peer]) => ({ row: "in the end", from: at, to: at + length, kind: KINDS[2], what: `from rank ${peer}`, text: `←${peer}`, peer }));
    const frames = [
      { row: "buffer", to: units },
      { row: "auxiliary", to: aux },
    ];
    const all = [...pieces, ...final];
    const fits = (p) => ((p.to - p.from) / widest) * (width - 90) > 24;
    return Plot.plot({
      width,
      height: 220,
      marginLeft: 74,
      marginRight: 12,
      x: { domain: [0, widest], label: `place, in units of ${strip.unitBytes} bytes` },
      y: { domain: ["buffer", "auxiliary", "in the end"], label: null, padding: 0.25 },
      color: { domain: KINDS, range: COLOURS, legend: true },
      marks: [
        Plot.barX(frames, { y: "row", x1: 0, x2: "to", fill: "none", stroke: "currentColor", strokeDasharray: "3 3", strokeOpacity: 0.7 }),
        Plot.barX(all, {
          y: "row",
          x1: "from",
          x2: "to",
          fill: "kind",
          fillOpacity: (p) => (p.row === "in the end" ? 0.35 : 0.9),
          stroke: "var(--card)",
          channels: { what: "what", places: (p) => `${p.from} to ${p.to - 1}`, bytes: (p) => bytes((p.to - p.from) * strip.unitBytes) },
          tip: { format: { x1: false, x2: false, x: false, y: false, fill: true, fillOpacity: false } },
        }),
        Plot.text(all.filter(fits), { y: "row", x: (p) => (p.from + p.to) / 2, text: "text", fill: (p) => (p.row === "in the end" ? "currentColor" : "var(--card)"), fontWeight: "bold", pointerEvents: "none" }),
      ],
    });
  };
  const fig = figure({
    title: `The buffer of a rank: ${strip.label}`,
    min: 240,
    note: () => {
      const { done, all } = settled(strip, rank, step);
      return `Rank ${rank} after round ${strip.steps[step].round}: ${percent(all > 0 ? done / all : 1)} of what it receives is in place. Blank places in the frames are holes.`;
    },
    draw,
    table: () => ({
      columns: [
        { key: "row", label: "memory" },
        { key: "from", label: "from unit" },
        { key: "to", label: "to unit" },
        { key: "kind", label: "state" },
        { key: "what", label: "block" },
      ],
      rows: piecesOf(strip, rank, step),
    }),
    controls: [
      choice("Rank", strip.ranks.map((_, r) => ({ value: r, label: String(r) })), 0, (v) => {
        rank = Number(v);
        fig.refresh();
      }),
    ],
  });
  const play = player(strip.steps.length, (v) => (v === 0 ? "before it begins" : `round ${strip.steps[v].round}`), (v) => {
    step = v;
    fig.refresh();
  });
  return h("div", { class: "strip" }, h("h3", {}, strip.label), play.element, fig.element);
}
