// Figures as people read them. Exact values stand in tables, tooltips and CSV.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Up to three significant digits, no exponent for everyday sizes.
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  let unit = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1024 && unit + 1 < BYTE_UNITS.length) {
    scaled /= 1024;
    ++unit;
  }
  return `${short(scaled)} ${BYTE_UNITS[unit]}`;
}

/// Round figures in powers of two, about `wanted` of them from 0 to `most`.
export function byteTicks(most, wanted = 4) {
  if (!(most > 0)) return [0];
  let step = 1;
  while (step < most / wanted) step *= 2;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

export function seconds(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-6) return `${short(value * 1e9)} ns`;
  if (size < 1e-3) return `${short(value * 1e6)} µs`;
  if (size < 1) return `${short(value * 1e3)} ms`;
  return `${short(value)} s`;
}

export function percent(part) {
  if (!Number.isFinite(part)) return "–";
  return `${short(part * 100)}%`;
}

export const count = (value) => (Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–");

/// "12 calls", "1 call".
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
