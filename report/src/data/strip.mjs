// The buffer of each rank during in_place: pieces that move, and the holes that they leave.

/// Pieces of one rank: {at, length, aux, kind, peer}. kind "out": still to be sent to `peer`; "in": came from `peer`.
/// Taking a part out of pieces splits them.
export function takeOut(pieces, at, length, aux) {
  const rest = [];
  const taken = [];
  for (const p of pieces) {
    const from = Math.max(p.at, at);
    const to = Math.min(p.at + p.length, at + length);
    if (p.aux !== aux || from >= to) {
      rest.push(p);
      continue;
    }
    if (p.at < from) rest.push({ ...p, length: from - p.at });
    if (to < p.at + p.length) rest.push({ ...p, at: to, length: p.at + p.length - to });
    taken.push({ ...p, at: from, length: to - from });
  }
  return { rest, taken };
}

export function put(pieces, piece) {
  return [...takeOut(pieces, piece.at, piece.length, piece.aux).rest, piece].sort(
    (a, b) => Number(a.aux) - Number(b.aux) || a.at - b.at,
  );
}

// Auxiliary places are written −1 − place.
const placeOf = (at) => (at < 0 ? { at: -1 - at, aux: true } : { at, aux: false });

function apply(states, [what, , rank, at, length, peer, from]) {
  const pieces = states[rank];
  if (what === "left") {
    states[rank] = takeOut(pieces, placeOf(from).at, length, placeOf(from).aux).rest;
  } else if (what === "arrived") {
    const to = placeOf(at);
    states[rank] = put(pieces, { ...to, length, kind: "in", peer });
  } else {
    const old = placeOf(from);
    const to = placeOf(at);
    const { rest, taken } = takeOut(pieces, old.at, length, old.aux);
    states[rank] = taken.reduce(
      (all, t) => put(all, { ...t, at: to.at + (t.at - old.at), aux: to.aux }),
      rest,
    );
  }
}

/// {ranks, steps: [{round, ranks: [pieces]}]}: the state after each round, the first before all.
export function prepareStrip(data, name) {
  const { ranks, events, unit_bytes: unitBytes } = data.strip;
  let states = ranks.map((r) => r.out.map(([at, length, peer]) => ({ at, length, peer, aux: false, kind: "out" })));
  const steps = [{ round: 0, ranks: states.map((s) => s) }];
  let round = events.length ? events[0][1] : 0;
  const flush = () => steps.push({ round, ranks: states.map((s) => s) });
  states = [...states];
  for (const event of events) {
    if (event[1] !== round) {
      flush();
      round = event[1];
    }
    apply(states, event);
  }
  if (events.length) flush();
  return {
    name,
    algorithm: data.algorithm,
    label: `${data.algorithm}, ${data.ranks} ranks, ${data.workload ?? "uniform"}`,
    ranks,
    unitBytes,
    steps,
    final: ranks.map((r) => r.in),
  };
}

/// Units of one rank that are in place at a step, of all that it gets.
export function settled(strip, rank, step) {
  let done = 0;
  let all = 0;
  for (const [at, length, peer] of strip.final[rank]) {
    all += length;
    for (const p of strip.steps[step].ranks[rank]) {
      const own = p.kind === "out" && p.peer === rank && peer === rank;
      if (p.aux || (!own && (p.kind !== "in" || p.peer !== peer))) continue;
      done += Math.max(0, Math.min(p.at + p.length, at + length) - Math.max(p.at, at));
    }
  }
  return { done, all };
}
