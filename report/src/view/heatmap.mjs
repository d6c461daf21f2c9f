// Bytes from each rank to each, as an image; parts of it are enlarged by dragging, by numbers or by keys.
import * as Plot from "@observablehq/plot";
import { byteTicks, bytes } from "../data/format.mjs";
import { cut } from "../data/traffic.mjs";
import { button, choice, freshId, h } from "./dom.mjs";
import { figure } from "./figure.mjs";

const span = (matrix, [from, to]) => [from * matrix.group, Math.min(to * matrix.group, matrix.ranks) - 1];
const rankText = (matrix, from, step) => {
  const [first, last] = span(matrix, [from, from + step]);
  return first === last ? `rank ${first}` : `ranks ${first}–${last}`;
};

const rampTicks = (scale, most) => (scale.type === "log" ? powers(scale.domain[0], most) : byteTicks(most));

// At most five powers of two; between close ends the ends themselves.
function powers(least, most) {
  const from = Math.ceil(Math.log2(least));
  const to = Math.floor(Math.log2(most));
  if (to - from < 1) return [least, most];
  const step = Math.max(1, Math.ceil((to - from) / 4));
  const list = [];
  for (let i = from; i <= to; i += step) list.push(2 ** i);
  return list;
}

/// `get()` gives {matrix, what} or null. Returns {element, refresh}.
export function heatmap(get) {
  let rows = null;
  let columns = null;
  let scale = "log";
  let last = null;
  const tooltip = h("div", { class: "tooltip", hidden: true });
  const whole = (m) => {
    rows = [0, m.n];
    columns = [0, m.n];
  };
  const limit = (m, [from, to]) => {
    const width = Math.max(1, Math.min(m.n, Math.round(to - from)));
    const start = Math.max(0, Math.min(m.n - width, Math.round(from)));
    return [start, start + width];
  };
  const current = () => {
    const now = get();
    if (!now) return null;
    if (!last || last.n !== now.matrix.n || last.ranks !== now.matrix.ranks) whole(now.matrix);
    last = now.matrix;
    return now;
  };
  const resize = (factor) => {
    if (!last) return;
    const scaled = ([a, b]) => {
      const middle = (a + b) / 2;
      const half = Math.max(0.5, ((b - a) * factor) / 2);
      return limit(last, [middle - half, middle + half]);
    };
    rows = scaled(rows);
    columns = scaled(columns);
    fig.refresh();
  };
  const shift = (dr, dc) => {
    if (!last) return;
    const by = (range, d) => limit(last, [range[0] + d * (range[1] - range[0]) * 0.25, range[1] + d * (range[1] - range[0]) * 0.25]);
    rows = by(rows, dr);
    columns = by(columns, dc);
    fig.refresh();
  };
  const reset = () => {
    if (last) whole(last);
    fig.refresh();
  };

  const field = (label, read, write) => {
    const id = freshId("range");
    const input = h("input", { id, type: "number", min: 0, value: 0 });
    input.addEventListener("change", () => {
      if (!last || !Number.isFinite(input.valueAsNumber)) return;
      write(Math.floor(input.valueAsNumber / last.group));
      fig.refresh();
    });
    return { input, read, element: h("div", { class: "control" }, h("label", { for: id }, label), input) };
  };
  const fields = [
    field("Senders from", () => span(last, rows)[0], (v) => (rows = limit(last, [v, Math.max(v + 1, rows[1])]))),
    field("to", () => span(last, rows)[1], (v) => (rows = limit(last, [Math.min(rows[0], v), v + 1]))),
    field("Receivers from", () => span(last, columns)[0], (v) => (columns = limit(last, [v, Math.max(v + 1, columns[1])]))),
    field("to", () => span(last, columns)[1], (v) => (columns = limit(last, [Math.min(columns[0], v), v + 1]))),
  ];

  function interact(svg, part, plot) {
    const x = plot.scale("x");
    const y = plot.scale("y");
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const f = svg.viewBox.baseVal.width / box.width;
      return [x.invert((event.clientX - box.left) * f), y.invert((event.clientY - box.top) * f)];
    };
    let start = null;
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    mark.setAttribute("class", "brush");
    svg.append(mark);
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      start = place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const [c, r] = place(event);
      if (start) {
        const [x0, x1] = [x.apply(start[0]), x.apply(c)].sort((a, b) => a - b);
        const [y0, y1] = [y.apply(start[1]), y.apply(r)].sort((a, b) => a - b);
        for (const [name, value] of Object.entries({ x: x0, y: y0, width: x1 - x0, height: y1 - y0 })) mark.setAttribute(name, value);
      }
      const row = Math.floor((r - rows[0]) / part.step);
      const column = Math.floor((c - columns[0]) / part.step);
      if (row < 0 || column < 0 || row >= part.rows || column >= part.cols) {
        tooltip.hidden = true;
        return;
      }
      tooltip.hidden = false;
      const value = part.values[row * part.cols + column];
      tooltip.textContent = `${rankText(last, rows[0] + row * part.step, part.step)} to ${rankText(last, columns[0] + column * part.step, part.step)}: ${value.toLocaleString("en-US")} bytes (${bytes(value)})`;
      const box = svg.parentElement.getBoundingClientRect();
      tooltip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 240)}px`;
      tooltip.style.top = `${event.clientY - box.top + 14}px`;
    });
    svg.addEventListener("pointerleave", () => (tooltip.hidden = true));
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [c, r] = place(event);
      const [c0, c1] = [start[0], c].sort((a, b) => a - b);
      const [r0, r1] = [start[1], r].sort((a, b) => a - b);
      start = null;
      if (c1 - c0 < 0.5 && r1 - r0 < 0.5) {
        for (const name of ["width", "height"]) mark.setAttribute(name, 0);
        return;
      }
      columns = limit(last, [Math.floor(c0), Math.ceil(c1)]);
      rows = limit(last, [Math.floor(r0), Math.ceil(r1)]);
      fig.refresh();
    });
  }

  function draw(width) {
    const now = current();
    if (!now) return null;
    const { matrix } = now;
    for (const f of fields) f.input.value = f.read();
    const part = cut(matrix, rows, columns);
    let least = Infinity;
    let most = 0;
    const values = Array.from(part.values, (v) => {
      if (!(v > 0)) return NaN;
      least = Math.min(least, v);
      most = Math.max(most, v);
      return v;
    });
    const even = least === most || most === 0;
    const size = Math.min(width, 560);
    const wide = columns[1] - columns[0];
    const tall = rows[1] - rows[0];
    const left = 56;
    const inner = size - left - 16;
    // Few ranks have their number in the middle of their cell, many at its edge.
    const ticksOf = ([from, to]) =>
      to - from <= 16
        ? { ticks: Array.from({ length: to - from }, (_, i) => from + i + 0.5), tickFormat: (t) => String(Math.floor(t) * matrix.group), tickSize: 0 }
        : { ticks: 8, tickFormat: (t) => (Number.isInteger(t) ? String(t * matrix.group) : "") };
    const plot = Plot.plot({
      width: size,
      height: Math.min(900, Math.max(120, (inner * tall) / wide + 66)),
      marginLeft: left,
      marginTop: 42,
      marginBottom: 12,
      x: { domain: [columns[0], columns[1]], axis: "top", label: "receiver →", ...ticksOf(columns) },
      y: { domain: [rows[0], rows[1]], reverse: true, label: "↓ sender", ...ticksOf(rows) },
      color: { type: even ? "linear" : scale, domain: even ? [0, most || 1] : [scale === "log" ? least : 0, most], scheme: "viridis", label: "bytes", tickFormat: bytes },
      marks: [
        Plot.raster(values, {
          width: part.cols,
          height: part.rows,
          x1: columns[0],
          x2: columns[0] + part.cols * part.step,
          y1: rows[0],
          y2: rows[0] + part.rows * part.step,
          imageRendering: "pixelated",
        }),
        Plot.frame({ stroke: "currentColor", strokeOpacity: 0.4 }),
      ],
    });
    interact(plot, part, plot);
    const box = h("div", { class: "heatmap", role: "group", tabindex: 0, "aria-label": "Heat map; arrows move, plus and minus enlarge and shrink, 0 shows all" });
    box.addEventListener("keydown", (event) => {
      const act = {
        "+": () => resize(0.5),
        "=": () => resize(0.5),
        "-": () => resize(2),
        0: reset,
        ArrowUp: () => shift(-1, 0),
        ArrowDown: () => shift(1, 0),
        ArrowLeft: () => shift(0, -1),
        ArrowRight: () => shift(0, 1),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
      element().querySelector(".heatmap")?.focus();
    });
    tooltip.hidden = true;
    const ramp = even
      ? h("p", { class: "note" }, most > 0 ? `Every pair that exchanges anything: ${bytes(most)}.` : "No bytes.")
      : Plot.legend({ color: plot.scale("color"), width: Math.min(340, size - 20), marginLeft: 30, marginRight: 30, label: "bytes; empty: none", tickFormat: bytes, ticks: rampTicks(plot.scale("color"), most) });
    box.append(ramp, plot, tooltip);
    return box;
  }

  const fig = figure({
    title: "Bytes from rank to rank",
    min: 320,
    note: () => {
      const now = current();
      if (!now) return "The file does not tell who sends to whom here.";
      const grouped = now.matrix.group > 1 ? ` Each cell is ${now.matrix.group} ranks.` : "";
      return `${now.what}; ${now.matrix.ranks} ranks.${grouped} Drag over a part to enlarge it.`;
    },
    draw,
    controls: [
      choice("Colours", [{ value: "log", label: "logarithmic" }, { value: "linear", label: "linear" }], scale, (v) => {
        scale = v;
        fig.refresh();
      }),
      ...fields.map((f) => f.element),
      h("div", { class: "control buttons" }, button("+", () => resize(0.5), { "aria-label": "enlarge" }), button("−", () => resize(2), { "aria-label": "shrink" }), button("All", reset, { "aria-label": "show all ranks" })),
    ],
    table: () => {
      const now = current();
      const list = [];
      if (now)
        for (let r = rows[0]; r < rows[1]; ++r)
          for (let c = columns[0]; c < columns[1]; ++c) {
            const value = now.matrix.cells[r * now.matrix.n + c];
            if (value > 0) list.push({ from: rankText(now.matrix, r, 1), to: rankText(now.matrix, c, 1), bytes: value });
          }
      return { columns: [{ key: "from", label: "sender" }, { key: "to", label: "receiver" }, { key: "bytes", label: "bytes" }], rows: list };
    },
  });
  const element = () => fig.element;
  return fig;
}
