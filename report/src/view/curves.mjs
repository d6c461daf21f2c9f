// Colours, symbols and dashes of algorithms: the same in all plots. The eight colours are Okabe and Ito's, which people
// with any kind of colour blindness tell apart; beyond eight, symbols differ too.
import { h } from "./dom.mjs";

/// Set in style.css, for light and dark.
export const COLOURS = Array.from({ length: 8 }, (_, i) => `var(--c${i})`);
const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];

/// Beyond the eight, hues by the golden angle, which repeats none.
const colourOf = (i) => COLOURS[i] ?? `oklch(var(--more-light) 0.15 ${((i - COLOURS.length) * 137.5 + 20) % 360})`;

/// Pixels for names at the left of a plot, so that none is cut.
export const roomFor = (names, width) => Math.min(Math.max(60, ...names.map((n) => 6.4 * n.length + 16)), width * 0.6);

/// `first` are those that must not share a colour.
export function styles(names, first = new Set()) {
  const rest = [...new Set(names)].filter((n) => n !== "native").sort((a, b) => Number(first.has(b)) - Number(first.has(a)) || (a < b ? -1 : 1));
  const map = new Map([["native", { colour: "var(--ink)", symbol: "asterisk" }]]);
  rest.forEach((name, i) =>
    map.set(name, {
      colour: colourOf(i),
      symbol: SYMBOLS[(i + Math.floor(i / COLOURS.length)) % SYMBOLS.length],
    }),
  );
  return map;
}

/// Boxes to show and hide curves; `shown` is a set that they change.
export function legend(names, style, shown, change) {
  const boxes = [];
  const items = names.map((name) => {
    const box = h("input", { type: "checkbox", checked: shown.has(name) });
    box.addEventListener("change", () => {
      if (box.checked) shown.add(name);
      else shown.delete(name);
      change();
    });
    boxes.push([name, box]);
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = style.get(name)?.colour ?? "var(--ink)";
    return h("label", { class: "curve" }, box, swatch, name);
  });
  const all = (on) => () => {
    for (const [name, box] of boxes) {
      box.checked = on;
      if (on) shown.add(name);
      else shown.delete(name);
    }
    change();
  };
  return h(
    "fieldset",
    { class: "legend" },
    h("legend", {}, "Curves"),
    items,
    h("button", { type: "button", onclick: all(true) }, "All"),
    h("button", { type: "button", onclick: all(false) }, "None"),
  );
}
