// Times of algorithms, measured and predicted, as points; what can be drawn in one plot is one case.

export const isRedistribution = (r) => r.collective === "redistribute";

const describe = (r) =>
  [
    r.workload ?? "uniform",
    r.collective && r.collective !== "recorded" ? r.collective : null,
    r.in_place ? "in place" : null,
    r.persistent ? "persistent" : null,
  ]
    .filter(Boolean)
    .join(", ");

const positive = (v) => Number.isFinite(v) && v > 0;

/// Records of `taquin run`, measured and predicted times. Those without a time are algorithms that cannot serve.
export function pointsOfRecords(records, file) {
  const points = [];
  const unserved = [];
  for (const r of records) {
    const label = describe(r);
    if (!positive(r.median_s)) {
      unserved.push({ file, label, algorithm: r.algorithm, ranks: r.ranks, reason: r.reason ?? "no time was measured" });
      continue;
    }
    const asked = r.asked ?? r.requested;
    points.push({
      file,
      label,
      basis: "measured",
      algorithm: asked === "auto" ? "auto" : r.algorithm,
      chosen: r.algorithm,
      ranks: r.ranks,
      bytes: r.bytes_per_rank ?? 0,
      time: r.median_s,
      low: r.ci95_s?.[0] ?? null,
      high: r.ci95_s?.[1] ?? null,
      ratio: positive(r.ratio_to_native) ? r.ratio_to_native : null,
      memory: r.in_place && r.algorithm === "native" ? r.bytes_per_rank ?? null : r.peak_memory ?? null, // its second buffer
      limit: r.memory_limit ?? null,
      wrong: r.wrong_bytes ?? 0,
      messages: r.messages ?? null,
      repetitions: r.repetitions ?? null,
      recorded: r.collective === "recorded",
      inPlace: Boolean(r.in_place),
      persistent: Boolean(r.persistent),
      collective: r.collective,
    });
  }
  return { points: [...distinctNative(points), ...modelOfRecords(records, file)], unserved };
}

// What the model said of the same exchanges, where the records tell.
function modelOfRecords(records, file) {
  return records
    .filter((r) => positive(r.predicted_s) && positive(r.median_s))
    .map((r) => predictedPoint(file, describe(r), r.algorithm === "several" ? r.asked ?? r.algorithm : r.algorithm, r.ranks, r.bytes_per_rank ?? 0, r.predicted_s));
}

const predictedPoint = (file, label, algorithm, ranks, bytes, time) => ({
  file,
  label,
  basis: "predicted",
  algorithm,
  chosen: algorithm,
  ranks,
  bytes,
  time,
  low: null,
  high: null,
  ratio: null,
  memory: null,
  limit: null,
  wrong: 0,
});

/// Of predictions of one exchange with one algorithm the first: records and `simulate` may both tell one.
export function distinctPredictions(points) {
  const seen = new Set();
  return points.filter((p) => {
    if (p.basis !== "predicted") return true;
    const key = JSON.stringify([p.label, p.algorithm, p.ranks, p.bytes]);
    return !seen.has(key) && seen.add(key);
  });
}

// The MPI library's own call comes first and, through taquin, once more as the algorithm of that name.
function distinctNative(points) {
  const seen = new Set();
  return points.map((p) => {
    const key = JSON.stringify([p.label, p.ranks, p.bytes, p.algorithm, p.limit]);
    if (seen.has(key) && p.algorithm === "native") return { ...p, algorithm: "native through taquin" };
    seen.add(key);
    return p;
  });
}

/// Records of `taquin simulate`.
export function pointsOfPredictions(records, file) {
  return records
    .filter((r) => positive(r.schedule_s) || positive(r.formula_s))
    .map((r) =>
      predictedPoint(file, describe(r), r.algorithm, r.ranks, r.bytes_per_rank ?? 0, positive(r.schedule_s) ? r.schedule_s : r.formula_s),
    );
}

/// Measured times of a machine profile, and what its model says of the same exchanges.
export function pointsOfProfile(profile, file) {
  return (profile.measured ?? []).flatMap((m) => {
    const label = [
      "profile",
      m.collective,
      m.in_place ? "in place" : null,
      m.reused ? "persistent" : null,
      m.skew > 0 ? `skew ${m.skew}` : null,
    ]
      .filter(Boolean)
      .join(", ");
    const measured = {
      ...predictedPoint(file, label, m.algorithm, m.ranks, m.bytes, m.time),
      basis: "measured",
      profile: true,
    };
    return positive(m.predicted) ? [measured, predictedPoint(file, label, m.algorithm, m.ranks, m.bytes, m.predicted)] : [measured];
  });
}

/// Cases in the order of their first point: {label, axes: [{axis, fixed, label, points}]}. An axis is what varies.
export function casesOf(points) {
  const byLabel = groupBy(points, (p) => p.label);
  const cases = [];
  for (const [label, all] of byLabel) {
    const views = [];
    for (const [axis, other] of [
      ["bytes", "ranks"],
      ["ranks", "bytes"],
    ])
      for (const [fixed, some] of groupBy(all, (p) => p[other])) {
        const values = new Set(some.map((p) => p[axis]));
        if (values.size > 1) views.push({ axis, fixed, points: some });
      }
    if (!views.length)
      for (const [key, some] of groupBy(all, (p) => `${p.ranks} ranks, ${p.bytes} bytes`))
        views.push({ axis: null, fixed: key, points: some });
    cases.push({ label, views });
  }
  return cases;
}

export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(item);
  }
  return groups;
}

/// Curves of a view: one for each algorithm and basis, sorted along the axis.
export function curvesOf(view) {
  const curves = [];
  for (const [, points] of groupBy(view.points, (p) => `${p.basis}\u0000${p.algorithm}`)) {
    const sorted = view.axis ? [...points].sort((a, b) => a[view.axis] - b[view.axis]) : points;
    curves.push({ algorithm: points[0].algorithm, basis: points[0].basis, points: sorted });
  }
  return curves;
}

// Time at x between two points of a curve, on straight lines between logarithms.
function timeAt(points, axis, x) {
  for (let i = 0; i + 1 < points.length; ++i) {
    const [a, b] = [points[i], points[i + 1]];
    if (x < a[axis] || x > b[axis] || a[axis] <= 0 || b[axis] <= a[axis]) continue;
    const part = Math.log(x / a[axis]) / Math.log(b[axis] / a[axis]);
    return Math.exp(Math.log(a.time) + part * (Math.log(b.time) - Math.log(a.time)));
  }
  const same = points.find((p) => p[axis] === x);
  return same ? same.time : null;
}

const FINE = 24; // steps between two points

// Left of x `from` was faster and right of it `to`, by intervals that do not meet, where times were measured.
function crosses(curves, axis, from, to, x) {
  const [a, b] = [from, to].map((name) => curves.find((c) => c.algorithm === name));
  if (a.basis !== "measured") return true;
  const pairs = a.points.map((p) => [p, b.points.find((q) => q[axis] === p[axis])]).filter(([, q]) => q);
  const apart = ([p, q]) => [p, q].every((v) => Number.isFinite(v.low) && Number.isFinite(v.high)) && (p.high < q.low || q.high < p.low);
  const left = pairs.filter(([p]) => p[axis] < x * (1 - 1e-9)).at(-1);
  const right = pairs.find(([p]) => p[axis] >= x * (1 - 1e-9));
  return Boolean(left && right) && apart(left) && apart(right);
}

/// Where the fastest algorithm changes along the axis: [{at, from, to, basis}].
export function crossovers(curves, axis) {
  const found = [];
  for (const [basis, same] of groupBy(curves, (c) => c.basis)) {
    const xs = [...new Set(same.flatMap((c) => c.points.map((p) => p[axis])))].filter((x) => x > 0).sort((a, b) => a - b);
    const fine = [];
    xs.forEach((x, i) => {
      fine.push(x);
      if (i + 1 < xs.length)
        for (let k = 1; k < FINE; ++k) fine.push(x * (xs[i + 1] / x) ** (k / FINE));
    });
    let before = null;
    for (const x of fine) {
      let best = null;
      for (const c of same) {
        const time = timeAt(c.points, axis, x);
        if (time !== null && (best === null || time < best.time)) best = { name: c.algorithm, time };
      }
      if (best && before && best.name !== before.name && crosses(same, axis, before.name, best.name, x))
        found.push({ at: Math.sqrt(before.x * x), from: before.name, to: best.name, basis });
      if (best) before = { name: best.name, x };
    }
  }
  return found;
}

/// Curves to show at first: native, auto, and those that are fastest somewhere or nearly so.
export function firstShown(curves, most = 7) {
  const best = new Map(); // at each place
  for (const c of curves)
    for (const p of c.points) {
      const key = `${c.basis} ${p.ranks} ${p.bytes}`;
      best.set(key, Math.min(best.get(key) ?? Infinity, p.time));
    }
  const scores = new Map();
  for (const c of curves)
    for (const p of c.points) {
      const score = p.time / best.get(`${c.basis} ${p.ranks} ${p.bytes}`);
      scores.set(c.algorithm, Math.min(scores.get(c.algorithm) ?? Infinity, score));
    }
  const names = [...scores].sort((a, b) => a[1] - b[1]).map(([name]) => name);
  return new Set(["native", "auto", ...names.filter((n) => n !== "native" && n !== "auto").slice(0, most - 1)]);
}
