// Redistributions of blocks: records of what was measured, and runs over time.

export function redistributionRecords(records, file) {
  return records
    .filter((r) => Number.isFinite(r.median_s))
    .map((r) => ({
      file,
      algorithm: (r.asked ?? r.requested) === "auto" ? "auto" : r.algorithm,
      label: `${r.workload}, ${r.ranks} ranks, ${r.blocks ?? "?"} blocks of ${r.block_bytes ?? "?"} bytes, ${
        r.free_blocks ?? "?"
      } free`,
      time: r.median_s,
      low: r.ci95_s?.[0] ?? r.median_s,
      high: r.ci95_s?.[1] ?? r.median_s,
      ratio: r.ratio_to_native ?? null,
      memory: r.peak_memory ?? null,
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
  const label = `${data.workload}, ${data.ranks} ranks, ${data.blocks} blocks of ${data.block_bytes} bytes, ${data.free_blocks} free`;
  const points = data.steps.map(([step, free, aside, settled, copied, away]) => ({
    algorithm: data.algorithm,
    step,
    free,
    aside,
    settled,
    copied,
    away,
  }));
  return { file, algorithm: data.algorithm, label, points };
}
