// Play, step forward and back, and a slider: for schedules and for the moves of in_place.
import { button, h, slider } from "./dom.mjs";

const PAUSE = 900; // milliseconds

/// `show(step)` draws. `text(step)` names a step.
export function player(steps, text, show) {
  let step = 0;
  let timer = null;
  const position = slider("Step", { min: 0, max: Math.max(0, steps - 1), value: 0, text }, (v) => go(v));
  const play = button("Play", () => (timer ? stop() : start()), { class: "play" });
  function go(next) {
    step = Math.max(0, Math.min(steps - 1, next));
    position.set(step);
    show(step);
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  function start() {
    if (step + 1 >= steps) go(0);
    play.textContent = "Stop";
    timer = setInterval(() => {
      if (!play.isConnected) return stop();
      if (step + 1 >= steps) return stop();
      go(step + 1);
    }, PAUSE);
  }
  const by = (d) => () => {
    stop();
    go(step + d);
  };
  return {
    element: h(
      "div",
      { class: "controls player" },
      play,
      button("Back", by(-1), { "aria-label": "one step back" }),
      button("Forward", by(1), { "aria-label": "one step forward" }),
      position.element,
    ),
    step: () => step,
    /// Another step to begin with; draws nothing.
    set(next) {
      step = next;
      position.set(step);
    },
  };
}
