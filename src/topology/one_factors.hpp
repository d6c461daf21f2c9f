// 1-factors of the complete graph: every two vertices are partners in exactly one round.
//
// Source: Sanders & Träff, The Hierarchical Factor Algorithm for All-to-all Communication, §2.
#pragma once

namespace taquin::detail {

/// Rounds in which `vertices` (at least 1) are all paired with each other. With an odd number of vertices each is its
/// own partner in one of them; with an even number no one is: all self-loops would be one further factor.
constexpr int factors(int vertices) noexcept { return vertices % 2 == 0 ? vertices - 1 : vertices; }

/// The partner of u in round i, 0 ≤ i < factors(vertices).
constexpr int partner(int vertices, int i, int u) noexcept {
  if (vertices % 2 != 0) return (i - u + vertices) % vertices;
  // The factors of one vertex less; the one that is its own partner there takes the last vertex instead.
  const int odd = vertices - 1;
  if (u == odd) return static_cast<int>(static_cast<long long>(i) * (vertices / 2) % odd);  // 2u = i mod odd
  const int v = (i - u + odd) % odd;
  return v == u ? odd : v;
}

}  // namespace taquin::detail
