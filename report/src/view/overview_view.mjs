import { figuresOf, savingText, worthDoing } from "../data/overview.mjs";
import { counted } from "../data/format.mjs";
import { button, h } from "./dom.mjs";

// Pages that are opened from disk may not have the clipboard's own functions.
function copyButton(text) {
  const press = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h("textarea", {}, text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    element.textContent = "Copied";
  };
  const element = button("Copy", press, { class: "copy", "aria-label": "copy the command" });
  return element;
}

// Lines end between words: an option's dash is no place for that.
const words = (command) => command.split(" ").flatMap((word, i) => [i ? " " : "", h("span", { class: "word" }, word)]);

const tile = (f) =>
  h("div", { class: "tile" }, h("dt", {}, f.label), h("dd", {}, h("strong", {}, f.value), f.note ? h("small", {}, f.note) : null));

function thing(t, index) {
  const basis = t.basis ?? "not known";
  return h(
    "li",
    { class: "thing" },
    h("h3", {}, `${index + 1}. ${t.title}`),
    h("p", {}, t.text),
    h("p", {}, t.basis ? h("span", { class: `basis ${basis}` }, basis) : null, ` ${savingText(t)}`),
    t.command ? h("pre", { tabindex: 0, "aria-label": "command" }, h("code", {}, words(t.command))) : null,
    t.command ? copyButton(t.command) : null,
  );
}

// Every call of the MPI library, by form and reason.
const leftToMpi = (calls) =>
  h(
    "details",
    { class: "more" },
    h("summary", {}, `${counted(calls.reduce((n, c) => n + c.calls, 0), "call")} left to the MPI library`),
    h("ul", {}, calls.map((c) => h("li", {}, `${c.calls.toLocaleString("en-US")} ${c.reason}`))),
  );

const OVERSUBSCRIBED = "Oversubscribed: more ranks than cores, so times include waiting for a core.";

/// What the page was made of, at its end, and which other sections there are.
export function files(model, absent) {
  return h(
    "details",
    { class: "more" },
    h("summary", {}, `Made of ${counted(model.files.length, "file")}`),
    h("ul", { class: "files" }, model.files.map((f) => h("li", {}, h("code", {}, f.name), ` (${f.kind})`))),
    absent.length ? h("p", { class: "note" }, "The page has more sections for other files:") : null,
    h("ul", {}, absent.map((s) => h("li", {}, `${s.title}: ${s.need}`))),
  );
}

export function overview(model) {
  const things = worthDoing(model);
  const parts = [];
  if (model.problems.length)
    parts.push(
      h(
        "div",
        { class: "problems" },
        h("h3", {}, "Files that cannot be shown"),
        h("ul", {}, model.problems.map((p) => h("li", {}, h("code", {}, p.name), `: ${p.what}`))),
      ),
    );
  parts.push(
    h("h3", {}, "Worth doing"),
    things.length
      ? h("ol", { class: "things" }, things.map(thing))
      : h("p", {}, "Nothing in these files says that something can be saved."),
  );
  for (const [i, source] of model.sources.entries()) {
    const heading = [source.kind === "recording" ? "Recording " : "Run ", h("code", { title: source.name }, source.name.split("/").at(-1))];
    const told = [
      source.program ? h("p", { class: "note" }, "of ", h("code", {}, source.program)) : null,
      source.trace
        ? h("p", { class: "note" }, "Its trace, ", h("code", {}, source.trace), ", opens at ", h("a", { href: "https://ui.perfetto.dev" }, "ui.perfetto.dev"), ".")
        : null,
      h("dl", { class: "tiles" }, figuresOf(source).known.map(tile)),
      source.leftToMpi?.length ? leftToMpi(source.leftToMpi) : null,
      source.kind === "recording" && source.totals.waiting === null
        ? h("p", { class: "note" }, "This recording does not tell waiting apart from transfer: its times hold both. Recordings of this version of taquin, and reports of preloaded runs, tell it.")
        : null,
      source.oversubscribed ? h("p", { class: "note" }, OVERSUBSCRIBED) : null,
      figuresOf(source).unknown.length ? h("p", { class: "note" }, `Not in this file: ${figuresOf(source).unknown.join(", ")}.`) : null,
    ].filter(Boolean);
    if (i === 0) parts.push(h("h3", {}, heading), ...told);
    else parts.push(h("details", { class: "more" }, h("summary", {}, heading), told));
  }
  return h("div", {}, parts.filter(Boolean));
}
