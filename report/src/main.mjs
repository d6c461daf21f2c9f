// Reads the data that the command put into the page, and shows a section for each kind of it.
import { collect } from "./data/model.mjs";
import { algorithms } from "./view/algorithms_view.mjs";
import { button, h } from "./view/dom.mjs";
import { drawAll } from "./view/figure.mjs";
import { files, overview } from "./view/overview_view.mjs";
import { redistribution } from "./view/redistribution_view.mjs";
import { regret } from "./view/regret_view.mjs";
import { schedule } from "./view/schedule_view.mjs";
import { traffic } from "./view/traffic_view.mjs";

const SECTIONS = [
  { id: "overview", title: "Overview", make: overview, has: () => true },
  { id: "traffic", title: "Traffic", make: traffic, has: (m) => m.sources.length > 0, need: "a recording (taquin record) or the report of a preloaded run (TAQUIN_REPORT)" },
  { id: "algorithms", title: "Algorithms", make: algorithms, has: (m) => m.points.length > 0, need: "records (taquin run --json), a profile (taquin tune) or predictions (taquin simulate --json)" },
  { id: "regret", title: "Regret", make: regret, has: (m) => m.regrets.length > 0, need: "records of random calls (make regret)" },
  { id: "schedule", title: "Schedule", make: schedule, has: (m) => m.schedules.length + m.strips.length > 0, need: "schedules (taquin plan --json)" },
  { id: "redistribution", title: "Redistribution", make: redistribution, has: (m) => m.redistributions.length + m.steps.length > 0, need: "records (taquin redistribute --json) or moves (taquin plan -a slots --json)" },
];

function read() {
  try {
    return JSON.parse(document.getElementById("taquin-data").textContent);
  } catch {
    return null;
  }
}

// Light, dark, or as the system is set.
function themeButton() {
  const names = ["auto", "light", "dark"];
  let at = 0;
  const press = () => {
    at = (at + 1) % names.length;
    if (at === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = names[at];
    element.textContent = `Colours: ${names[at]}`;
  };
  const element = button("Colours: auto", press, { class: "theme" });
  return element;
}

function sectionOf(description, model) {
  const title = h("h2", { id: `${description.id}-title` }, description.title);
  const section = h("section", { id: description.id, "aria-labelledby": `${description.id}-title` }, title);
  try {
    section.append(description.make(model));
  } catch (fault) {
    section.append(h("p", { class: "problems" }, `This section cannot be shown: ${fault.message}`));
  }
  return section;
}

const model = collect(read());
const names = model.files.map((f) => f.name.split("/").at(-1));
document.title = names.length ? `taquin: ${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}` : "taquin";
const main = document.querySelector("main");
const shown = SECTIONS.filter((s) => s.has(model));
// Plots that come into sight grow: what lies above a section has its height before the page goes there.
const nav = h("nav", { "aria-label": "Sections" }, shown.map((s) => h("a", { href: `#${s.id}`, onclick: drawAll }, s.title)));
document.querySelector("header").append(nav, themeButton());
for (const s of shown) main.append(sectionOf(s, model));
main.append(files(model, SECTIONS.filter((s) => !s.has(model))));
if (location.hash) {
  drawAll();
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
window.addEventListener("beforeprint", drawAll);
requestAnimationFrame(() =>
  setTimeout(() => {
    document.documentElement.dataset.firstDrawing = performance.now().toFixed(0);
  }),
);
