// A schedule of all ranks, round by round.

export function prepareSchedule(data, name) {
  const perNode = data.per_node > 0 ? data.per_node : 1;
  const sizes = data.nodes ?? Array(Math.ceil(data.ranks / perNode)).fill(perNode);
  const nodes = sizes.flatMap((size, node) => Array(size).fill(node));
  const nodeOf = (rank) => nodes[rank];
  const rounds = (data.rounds ?? []).map((round, index) => {
    const messages = (round.messages ?? []).map(([from, to, bytes, blocks]) => ({
      from,
      to,
      bytes,
      blocks: blocks ?? null,
      between: nodeOf(from) !== nodeOf(to),
    }));
    const links = new Map();
    for (const m of messages) {
      const key = `${nodeOf(m.from)} ${nodeOf(m.to)}`;
      const link = links.get(key) ?? { from: nodeOf(m.from), to: nodeOf(m.to), messages: 0, bytes: 0 };
      ++link.messages;
      link.bytes += m.bytes;
      links.set(key, link);
    }
    return {
      index,
      messages,
      links: [...links.values()],
      copies: (round.copies ?? []).map(([rank, bytes, from, to]) => ({ rank, bytes, from, to })),
      scratch: (round.scratch ?? []).map(([rank, bytes]) => ({ rank, bytes })),
    };
  });
  return {
    name,
    algorithm: data.algorithm,
    label: `${data.algorithm}${data.drawn_as ? ` as a ${data.drawn_as}` : ""}, ${data.ranks} ranks, ${data.workload ?? "uniform"}`,
    ranks: data.ranks,
    perNode,
    nodes: sizes.length,
    workload: data.workload,
    bytesPerRank: data.bytes_per_rank,
    memory: data.memory ?? null,
    scratchBytes: data.scratch_bytes ?? 0,
    throughMemory: Boolean(data.through_memory),
    note: data.note ?? null,
    rounds,
    totals: {
      rounds: rounds.length,
      messages: rounds.reduce((n, r) => n + r.messages.length, 0),
      bytes: rounds.reduce((n, r) => n + r.messages.reduce((b, m) => b + m.bytes, 0), 0),
      between: rounds.reduce((n, r) => n + r.messages.filter((m) => m.between).length, 0),
      copied: rounds.reduce((n, r) => n + r.copies.reduce((b, c) => b + c.bytes, 0), 0),
    },
  };
}

/// What passes through other ranks: "3>7 4>7"; empty where it is the sender's block for the receiver alone; null where the
/// file does not tell.
export function carriedBlocks(message, most = 8) {
  if (message.blocks === null || message.blocks === undefined) return null;
  if (!message.blocks.length) return "no block";
  const foreign = message.blocks.filter(([from, to]) => from !== message.from || to !== message.to);
  if (!foreign.length) return "";
  const shown = foreign.slice(0, most).map(([from, to]) => `${from}>${to}`);
  return shown.join(" ") + (foreign.length > most ? ` and ${foreign.length - most} more` : "");
}
