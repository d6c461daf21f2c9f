// Random calls, each measured in turn with a rival: the MPI library, or the fastest algorithm by name.

/// Records of the adversary have what no others have; those that could not be measured have a reason.
export const isRegret = (r) => r.cell !== undefined;

export const FAMILIES = [
  { key: "calls", label: "calls and plans", bound: 1.05 },
  { key: "in_place", label: "in place", bound: 1.1 },
  { key: "blocks", label: "redistribution", bound: 1.25 },
  { key: "choice", label: "auto against the best by name", bound: 1.1 },
];

/// One point each of those that were measured.
export function regretOf(records, file) {
  return records
    .filter((r) => isRegret(r) && Number.isFinite(r.regret))
    .map((r) => ({
      file,
      family: FAMILIES.find((f) => f.key === r.family)?.label ?? r.family,
      ranks: r.ranks,
      bytes: r.bytes_per_rank,
      ratio: r.regret + 1,
      low: r.ratio_ci95?.[0] ?? r.regret + 1,
      high: r.ratio_ci95?.[1] ?? r.regret + 1,
      time: r.median_s ?? null,
      algorithm: r.algorithm,
      rival: r.rival ?? "native",
      cell: r.cell,
      command: r.command ?? "",
    }));
}

/// How many of each family stay below its bound, the middle one and the worst.
export function shares(points) {
  return FAMILIES.map((f) => {
    const ratios = points.filter((p) => p.family === f.label).map((p) => p.ratio).sort((a, b) => a - b);
    if (!ratios.length) return null;
    const good = ratios.filter((r) => r <= f.bound).length;
    return { family: f.label, cells: ratios.length, bound: f.bound, share: good / ratios.length, median: ratios[Math.floor((ratios.length - 1) / 2)], worst: ratios.at(-1) };
  }).filter(Boolean);
}
