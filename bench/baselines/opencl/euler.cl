// SPDX-License-Identifier: Apache-2.0
// Looks for a^5 + b^5 + c^5 + d^5 = e^5. The work-items of a row of the grid share e.
kernel void euler(long n, global const long* restrict powers, long first, global long* restrict found) {
  const long a = get_global_id(0) + 1;
  const long e = get_global_id(1) + first;
  const long wanted = powers[e] - powers[a];
  for (long b = a; b < e; ++b) {
    for (long c = b; c < e; ++c) {
      const long last = wanted - powers[b] - powers[c];
      for (long d = c; d < e; ++d) {
        if (powers[d] == last) found[e * n + a] = (b * n + c) * n + d;
      }
    }
  }
}
