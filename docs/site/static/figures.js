// Draws the figures in the theme that the reader has chosen, or that the system has.
document.addEventListener("DOMContentLoaded", () => {
  const chosen = document.body.dataset.theme;
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral" });
  // A figure wider than the page is scaled down only as far as its text can be read; then it scrolls.
  mermaid.run({ querySelector: ".mermaid" }).then(() => {
    for (const svg of document.querySelectorAll(".mermaid > svg")) svg.style.minWidth = `${0.65 * svg.viewBox.baseVal.width}px`;
  });
});
