// A plot with what belongs to every plot: a title, what it shows in words, its data as a table and as CSV.
import { toCsv } from "../data/csv.mjs";
import { button, freshId, h } from "./dom.mjs";

const MOST_ROWS = 500;

const waiting = [];

function cell(value, column) {
  if (value === null || value === undefined) return "–";
  return column.format ? column.format(value) : String(value);
}

function fillTable(place, table) {
  const shown = table.rows.slice(0, MOST_ROWS);
  place.replaceChildren(
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, table.columns.map((c) => h("th", { scope: "col" }, c.label)))),
      h(
        "tbody",
        {},
        shown.map((row) =>
          h(
            "tr",
            {},
            table.columns.map((c, i) =>
              h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: typeof row[c.key] === "number" ? "number" : null }, cell(row[c.key], c)),
            ),
          ),
        ),
      ),
    ),
    shown.length < table.rows.length
      ? h("p", { class: "note" }, `The first ${shown.length} of ${table.rows.length} rows; all are in the CSV file.`)
      : "",
  );
}

function saveCsv(title, table) {
  const url = URL.createObjectURL(new Blob([toCsv(table)], { type: "text/csv" }));
  const link = h("a", { href: url, download: `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.csv` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/// `draw(width)` gives an element, or null for nothing to draw; `table()` gives {columns, rows}; `note()` a sentence.
/// refresh() draws again after a change. What is out of sight is drawn when it comes near, or printed.
export function figure({ title, note, draw, table, controls = [], min = 220 }) {
  const titleId = freshId("figure");
  const plot = h("div", { class: "plot", style: `min-height:${min}px` });
  const noteElement = h("p", { class: "note" });
  const tablePlace = h("div", { class: "table", role: "region", tabindex: 0, "aria-label": `${title}: table` });
  const details = h("details", {}, h("summary", {}, "Table"), tablePlace);
  details.addEventListener("toggle", () => details.open && fillTable(tablePlace, table()));
  const element = h(
    "figure",
    { "aria-labelledby": titleId },
    h("figcaption", { id: titleId }, title),
    controls.length ? h("div", { class: "controls" }, controls) : null,
    plot,
    noteElement,
    h("div", { class: "data" }, details, button("CSV", () => saveCsv(title, table()), { "aria-label": `${title}: save as CSV` })),
  );
  let drawn = false;
  let width = 0;
  const refresh = () => {
    if (!drawn) return;
    width = Math.max(260, Math.floor(plot.clientWidth || 640));
    const content = draw(width);
    plot.replaceChildren(content ?? h("p", { class: "note" }, "Nothing to draw."));
    const words = note ? note() : "";
    noteElement.textContent = words;
    // A picture is one thing to a screen reader: its parts have no names there.
    for (const part of plot.querySelectorAll("svg [aria-label]")) {
      part.dataset.mark = part.getAttribute("aria-label");
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    for (const svg of plot.querySelectorAll("svg")) {
      if (Number(svg.getAttribute("width")) < 40) {  // a legend's colour, with its name beside it
        svg.setAttribute("aria-hidden", "true");
        continue;
      }
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `${title}. ${words} All figures are in the table.`);
    }
    if (details.open) fillTable(tablePlace, table());
  };
  const first = () => {
    if (drawn) return;
    drawn = true;
    refresh();
  };
  new ResizeObserver(() => {
    if (drawn && Math.abs(plot.clientWidth - width) > 8) refresh();
  }).observe(plot);
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some((e) => e.isIntersecting)) return;
      seen.disconnect();
      first();
    },
    { rootMargin: "400px" },
  );
  seen.observe(element);
  waiting.push(first);
  return { element, refresh, first };
}

/// Draws everything that has not come into sight yet.
export const drawAll = () => waiting.forEach((first) => first());
