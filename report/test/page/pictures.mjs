// Pictures compared with tolerance: made small first, so that fonts and smoothing of lines do not count.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "expected");
const CELL = 8; // pixels across that become one
const MOST_DIFFERENT = 0.04; // part of the small picture's pixels

/// The mean colour of each cell of CELL × CELL pixels.
export function small(png) {
  const width = Math.floor(png.width / CELL);
  const height = Math.floor(png.height / CELL);
  const out = new PNG({ width, height });
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x)
      for (let channel = 0; channel < 4; ++channel) {
        let sum = 0;
        for (let dy = 0; dy < CELL; ++dy)
          for (let dx = 0; dx < CELL; ++dx) sum += png.data[4 * ((y * CELL + dy) * png.width + x * CELL + dx) + channel];
        out.data[4 * (y * width + x) + channel] = Math.round(sum / CELL / CELL);
      }
  return out;
}

/// Throws when the picture of an element differs from the expected one.
export async function compare(locator, name, update) {
  const now = small(PNG.sync.read(await locator.screenshot({ animations: "disabled" })));
  const path = join(folder, `${name}.png`);
  if (update) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, PNG.sync.write(now));
    return;
  }
  if (!existsSync(path)) throw new Error(`no picture ${name} to compare with`);
  const then = PNG.sync.read(readFileSync(path));
  // Text of another font may take a line more.
  const width = Math.min(now.width, then.width);
  const height = Math.min(now.height, then.height);
  if (Math.abs(now.width - then.width) > 2 || Math.abs(now.height - then.height) > 6)
    throw new Error(`picture ${name}: ${now.width} × ${now.height} cells, expected ${then.width} × ${then.height}`);
  const crop = (png) => {
    const out = new PNG({ width, height });
    PNG.bitblt(png, out, 0, 0, width, height, 0, 0);
    return out.data;
  };
  const different = pixelmatch(crop(now), crop(then), null, width, height, { threshold: 0.2 });
  if (different > MOST_DIFFERENT * width * height)
    throw new Error(`picture ${name}: ${different} of ${width * height} cells differ`);
}
