#!/bin/sh
# Tables of how `auto` chooses (docs/internals/selection.md) from the lines that bench_selection wrote: summary.sh problems.jsonl…
set -eu
cat "$@" | jq -rs '
  map(select(.algorithms and .auto)
      | .best = (.algorithms | map(.) | min_by(.[0]))
      | .own = .algorithms.native
      | .named = .algorithms[.chosen])
  | def percent(n; d): if d == 0 then "–" else "\(1000 * n / d | round / 10)%" end;
  def share(f): percent(map(select(f)) | length; length);
  def at(q): sort | .[((length - 1) * q) | round];
  def row(name):
    map(select(.own)) as $own |
    "| \(name) | \(length) | \(share(.auto[0] <= 1.10 * .best[0])) | \(share(.auto[0] <= 1.30 * .best[0]))" +
    " | \(share(.auto[1] <= 1.10 * .best[2])) | \(share(.auto[1] <= 1.30 * .best[2]))" +
    " | \($own | share(.auto[0] <= 1.05 * .own[0])) | \($own | share(.auto[1] <= 1.05 * .own[2])) |";
  "| problems | number | within 10% of the best | within 30% | 10%, outside noise | 30%, outside noise | at most 5% above `native` | outside noise |",
  "|---|---|---|---|---|---|---|---|",
  (map(select((.in_place | not) and .persistent)) | row("plans")),
  (map(select((.in_place | not) and (.persistent | not))) | row("blocking calls")),
  (map(select(.in_place)) | row("one buffer")),
  (map(select(.limited)) | row("of all, in limited memory")),
  (group_by(.ranks)[] | row("of all, \(.[0].ranks) ranks")),
  row("all"),
  "",
  "| the same algorithm, as `auto` and by name | median | 90% below |",
  "|---|---|---|",
  (map(select(.persistent and .named) | (.auto[0] / .named[0] - 1) | fabs) |
     "| plans: nothing but noise | \(1000 * at(0.5) | round / 10)% | \(1000 * at(0.9) | round / 10)% |"),
  (map(select((.persistent | not) and (.in_place | not) and .named)) |
     "| blocking: noise and choosing | \(map((.auto[0] / .named[0] - 1) * 1000) | at(0.5) | round / 10)% | \(map((.auto[0] / .named[0] - 1) * 1000) | at(0.9) | round / 10)% |",
     (group_by(.ranks)[] | map(select(.bytes_per_pair <= 512)) |
       "| blocking up to 512 bytes per pair, \(.[0].ranks) ranks: time | \(map((.auto[0] - .named[0]) * .native_s * 1e8) | at(0.5) | round / 100) us | \(map((.auto[0] - .named[0]) * .native_s * 1e8) | at(0.9) | round / 100) us |")),
  "",
  "| model | median error | 90% below |",
  "|---|---|---|",
  (["hockney", "logp", "loggp", "plogp"][] as $m |
     [.[].predicted_over_measured[$m] // {} | .[] | (. - 1) | fabs] |
     "| \($m) | \(100 * at(0.5) | round)% | \(100 * at(0.9) | round)% |")'
