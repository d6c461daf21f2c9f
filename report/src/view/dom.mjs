// Elements are made from text nodes and attributes only: no text of a file is ever read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

let names = 0;
export const freshId = (stem) => `${stem}-${++names}`;

/// A labelled list to choose from: options [{value, label}].
export function choice(label, options, chosen, change) {
  const id = freshId("choice");
  const select = h(
    "select",
    { id, onchange: () => change(select.value) },
    options.map((o) => h("option", { value: o.value, selected: String(o.value) === String(chosen) }, o.label)),
  );
  return h("div", { class: "control" }, h("label", { for: id }, label), select);
}

/// A labelled slider that tells its value in words.
export function slider(label, { min, max, value, text }, change) {
  const id = freshId("slider");
  const output = h("output", { for: id }, text(value));
  const input = h("input", { id, type: "range", min, max, value, step: 1 });
  const tell = () => {
    output.textContent = text(Number(input.value));
    input.setAttribute("aria-valuetext", text(Number(input.value)));
  };
  tell();
  input.addEventListener("input", () => {
    tell();
    change(Number(input.value));
  });
  const element = h("div", { class: "control slider" }, h("label", { for: id }, label), input, output);
  return {
    element,
    set(next) {
      input.value = String(next);
      tell();
    },
  };
}

export const button = (label, press, attributes = {}) =>
  h("button", { type: "button", onclick: press, ...attributes }, label);
