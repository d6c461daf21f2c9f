# A graph in Scotch's format whose vertices crowd in one corner, numbered along one axis: awk -v n=3000 -f graph.awk > graph.grf
# Vertices closer than a distance that shrinks with the crowd are neighbours, and one in 16 has an edge to a far vertex.
function random() {
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647
}
function join(a, b) {
  a += 0
  b += 0
  if (a == b || ((a, b) in edge)) return
  edge[a, b] = edge[b, a] = 1
  list[a] = list[a] " " b
  list[b] = list[b] " " a
  ++degree[a]
  ++degree[b]
  arcs += 2
}
BEGIN {
  seed = 12345
  for (i = 0; i < n; ++i) {
    x[i] = (i / n) ^ 2
    y[i] = random() ^ 2
  }
  near = 2.2 / n
  reach = sqrt(near * 2.05)
  for (i = 0; i < n; ++i) {
    cx = int(x[i] / reach)
    cy = int(y[i] / reach)
    for (u = cx - 1; u <= cx + 1; ++u)
      for (v = cy - 1; v <= cy + 1; ++v) {
        m = split(cell[u, v], there, " ")
        for (k = 1; k <= m; ++k) {
          j = there[k]
          dx = x[i] - x[j]
          dy = y[i] - y[j]
          if (dx * dx + dy * dy < near * (x[i] + y[i] + 0.05)) join(i, j)
        }
      }
    cell[cx, cy] = cell[cx, cy] " " i
  }
  for (i = 0; i < n; i += 16) join(i, int(random() * n))
  printf "0\n%d %d\n0 000\n", n, arcs
  for (i = 0; i < n; ++i) print degree[i] + 0 list[i]
}
