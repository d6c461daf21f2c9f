// Redistributions of blocks: records of what was measured, and runs over time.

const labelOf = (r) =>
  `${r.workload}, ${r.ranks} ranks, ${r.blocks ?? "?"} blocks of ${r.block_bytes ?? "?"} bytes, ${r.free_blocks ?? "?"} free`;

/// What records tell of the same algorithms over time: runs of fewer blocks where these were many.
export function stepsOfRecords(records, file) {
  return records
    .filter((r) => r.over_time?.steps?.length && (r.asked ?? r.requested) !== "auto")
    .map((r) => ({ ...stepsOf(r.over_time, file), label: labelOf(r) }));
}

// native is an exchange out of place: what arrives lies in a second buffer, which the caller has to have.
function secondBuffer(r) {
  return r.algorithm === "native" && Number.isFinite(r.blocks) && Number.isFinite(r.block_bytes) ? r.blocks * r.block_bytes : null;
}

export function redistributionRecords(records, file) {
  return records
    .filter((r) => Number.isFinite(r.median_s))
    .map((r) => ({
      file,
      algorithm: (r.asked ?? r.requested) === "auto" ? "auto" : r.algorithm,
      label: labelOf(r),
      time: r.median_s,
      low: r.ci95_s?.[0] ?? r.median_s,
      high: r.ci95_s?.[1] ?? r.median_s,
      ratio: r.ratio_to_native ?? null,
      memory: secondBuffer(r) ?? r.peak_memory ?? null,
      limit: r.memory_limit ?? null,
      copied: r.bytes_copied ?? null,
      sent: r.bytes_sent ?? null,
      messages: r.messages ?? null,
    }));
}

export const MEASURES = [
  { key: "settled", label: "Blocks in place" },
  { key: "away", label: "Blocks still on a wrong rank" },
  { key: "free", label: "Free places" },
  { key: "aside", label: "Blocks held aside: each is the end of a chain of moves" },
  { key: "copied", label: "Bytes copied inside ranks", bytes: true },
];

/// A run of all ranks over time.
export function stepsOf(data, file) {
  const points = data.steps.map(([step, free, aside, settled, copied, away]) => ({
    algorithm: data.algorithm,
    step,
    free,
    aside,
    settled,
    copied,
    away,
  }));
  return { file, algorithm: data.algorithm, label: labelOf(data), blocks: data.blocks, points };
}
