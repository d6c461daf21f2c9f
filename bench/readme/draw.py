#!/usr/bin/env python3
"""draw.py RESULTS [DIRECTORY]: README's picture, light.svg and dark.svg, from the records that the benchmarks have left in
RESULTS: node/node.json (bench/node/run.sh) and in-place/memory.json (bench/in_place/run.sh). DIRECTORY: RESULTS/readme."""

import json
import math
import sys
from pathlib import Path

RANKS = ("2", "4", "8", "16")
THEMES = {
    "light": {"text": "#1f2328", "faint": "#d0d7de", "quiet": "#59636e", "one": "#1f2328",
              "lines": ("#0969da", "#bc4c00", "#1a7f37", "#8250df")},
    "dark": {"text": "#e6edf3", "faint": "#30363d", "quiet": "#9198a1", "one": "#e6edf3",
             "lines": ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff")},
}
WIDTH, HEIGHT, LEFT, TOP, PANEL, TALL = 860, 330, 48, 58, 350, 210


def show(size):
    for unit, bytes_ in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= bytes_:
            return f"{size / bytes_:g}{unit}"
    return str(size)


def node_ratios(results):
    """Of each number of ranks: (bytes per pair, time relative to the MPI library's)."""
    curves = {p: [] for p in RANKS}
    for record in json.loads((results / "node/node.json").read_text(encoding="utf-8")):
        if record["kind"] == "random" and str(record["ranks"]) in curves:
            curves[str(record["ranks"])].append((record["bytes_per_pair"], record["ratio_to_native"]))
    return curves


def in_place_ratios(results):
    """Of each algorithm: (bytes of scratch memory, time as a multiple of the MPI library's with a second buffer)."""
    curves = {}
    for record in json.loads((results / "in-place/memory.json").read_text(encoding="utf-8")):
        if record["algorithm"] != "native" and record.get("variant") in (None, "", record["algorithm"], "in_place"):
            curves.setdefault(record["algorithm"], []).append((record["peak_memory"], record["ratio_to_native"]))
    return {name: sorted(points) for name, points in curves.items()}


class Drawing:
    def __init__(self, theme):
        self.theme, self.parts = theme, []

    def text(self, x, y, words, anchor="start", colour="text", size=13, weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{self.theme.get(colour, colour)}" '
                          f'font-size="{size}" font-weight="{weight}">{words}</text>')

    def line(self, x1, y1, x2, y2, colour, width=1, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{self.theme.get(colour, colour)}" stroke-width="{width}"{dash}/>')

    def curve(self, points, colour):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"/>')
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in points]

    def panel(self, left, title, below, curves, names, sizes, top):
        """One plot: sizes on a logarithmic axis, ratios from 0 to `top`."""
        low, high = math.log2(sizes[0]), math.log2(sizes[-1])

        def x(size):
            return left + PANEL * (math.log2(size) - low) / (high - low)

        def y(ratio):
            return TOP + TALL * (1 - ratio / top)

        self.text(left, 22, title, weight="bold", size=14)
        for step in range(int(top / 0.25) + 1):
            ratio = step * 0.25
            self.line(left, y(ratio), left + PANEL, y(ratio), "faint")
            if step % 2 == 0:
                self.text(left - 8, y(ratio) + 4, f"{ratio:g}", "end", "quiet", 12)
        for size in sizes:
            self.text(x(size), TOP + TALL + 18, show(size), "middle", "quiet", 12)
        self.text(left + PANEL / 2, TOP + TALL + 40, below, "middle", "quiet", 12)
        self.line(left, y(1), left + PANEL, y(1), "one", 1.6, dashed=True)
        at = left
        for colour, (name, points) in zip(self.theme["lines"], curves.items()):
            self.curve([(x(size), y(ratio)) for size, ratio in points], colour)
            self.line(at, 42, at + 16, 42, colour, 2.4)
            self.text(at + 21, 46, names(name), colour="text", size=12)
            at += 32 + 7.2 * len(names(name))
        return x, y

    def svg(self, alt):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
                f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">\n'
                f"<title>{alt}</title>\n" + "\n".join(self.parts) + "\n</svg>\n")


def draw(results, theme):
    d = Drawing(theme)
    d.panel(LEFT, "Time of alltoallv on one node", "bytes per pair", node_ratios(results),
            lambda p: f"{p} ranks", [8, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20], 1.25)
    d.text(LEFT + 4, TOP + TALL * (1 - 1 / 1.25) - 7, "the MPI library", size=12)
    in_place = in_place_ratios(results)
    x, y = d.panel(LEFT + PANEL + 70, "Time in one buffer of 50 MiB, 8 ranks",
                   "scratch memory of a rank, bytes", in_place, str, [65536, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20],
                   1.75)
    d.parts.append(f'<circle cx="{x(50 << 20):.1f}" cy="{y(1):.1f}" r="5" fill="{theme["one"]}"/>')
    d.text(x(50 << 20), y(1) + 20, "MPI_Alltoallv, with a second buffer", "end", size=12)
    return d.svg("Time of taquin as a multiple of the MPI library's time, on one node and in one buffer")


def main():
    results = Path(sys.argv[1])
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else results / "readme"
    out.mkdir(parents=True, exist_ok=True)
    for name, theme in THEMES.items():
        (out / f"{name}.svg").write_text(draw(results, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
