// Draws the figures in the theme that the reader has chosen, or that the system has.
document.addEventListener("DOMContentLoaded", () => {
  const chosen = document.body.dataset.theme;
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral" });
  mermaid.run({ querySelector: ".mermaid" });
});
