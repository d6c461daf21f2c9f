#!/bin/sh
# The tables of docs/selection.md from the lines that bench_selection wrote: summary.sh problems.jsonl
set -eu
jq -rs '
  def share(f): (map(select(f)) | length) as $n | (100 * $n / length * 10 | round / 10);
  def row(name): "| \(name) | \(length) | \(share(.auto_ratio <= 1.10 * .best_ratio))% | \(share(.auto_ratio <= 1.30 * .best_ratio))% | \(share(.auto_ratio <= 1.05))% |";
  def at(q): sort | .[((length - 1) * q) | floor];
  "| problems | number | within 10% of the best | within 30% | at most 5% above native |",
  "|---|---|---|---|---|",
  (map(select(.in_place | not)) | row("separate buffers"),
     (map(select(.persistent)) | row("… plans")), (map(select(.persistent | not)) | row("… blocking")),
     (group_by(.ranks)[] | row("… \(.[0].ranks) ranks"))),
  (map(select(.in_place)) | row("one buffer (native: out of place)")),
  row("all"),
  "",
  "| model | median error | 90% below |",
  "|---|---|---|",
  (["hockney", "logp", "loggp", "plogp"][] as $m | [.[].errors[$m] // [] | .[]] |
     "| \($m) | \(100 * at(0.5) | round)% | \(100 * at(0.9) | round)% |")' "$1"
