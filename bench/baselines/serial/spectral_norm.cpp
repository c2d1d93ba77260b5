// SPDX-License-Identifier: Apache-2.0
// Nested loops with calls: the spectral norm of an infinite matrix.
#include <cmath>
#include <cstdio>

#include "../measure.h"

namespace {

using Vector = std::vector<double>;

double a(std::int64_t i, std::int64_t j) {
  const std::int64_t ij = i + j;
  return 1.0 / static_cast<double>(ij * (ij + 1) / 2 + i + 1);
}

void times(const Vector& v, Vector& out) {
  const auto n = static_cast<std::int64_t>(v.size());
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < n; ++j) sum += a(i, j) * v[j];
    out[i] = sum;
  }
}

void times_transposed(const Vector& v, Vector& out) {
  const auto n = static_cast<std::int64_t>(v.size());
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < n; ++j) sum += a(j, i) * v[j];
    out[i] = sum;
  }
}

void spectral_norm(std::int64_t n) {
  Vector u(n, 1.0);
  Vector v(n);
  Vector t(n);
  for (int i = 0; i < 10; ++i) {
    times(u, t);
    times_transposed(t, v);
    times(v, t);
    times_transposed(t, u);
  }
  double vbv = 0.0;
  double vv = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    vbv += u[i] * v[i];
    vv += v[i] * v[i];
  }
  std::printf("%.9f\n", std::sqrt(vbv / vv));
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 300);
  while (run.next()) {
    spectral_norm(run.size());
    run.done();
  }
}
