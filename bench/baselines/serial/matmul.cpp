// SPDX-License-Identifier: Apache-2.0
// Nested arrays: the product of two matrices that are arrays of rows.
#include <cstdio>
#include <utility>

#include "../measure.h"

namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix matrix(std::int64_t n, double seed) {
  Matrix m(n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> row(n);
    for (std::int64_t j = 0; j < n; ++j)
      row[j] = seed * static_cast<double>(i - j) * static_cast<double>(i + j);
    m[i] = std::move(row);
  }
  return m;
}

Matrix multiply(const Matrix& a, const Matrix& b, std::int64_t n) {
  Matrix c(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::vector<double>& ai = a[i];
    std::vector<double> ci(n);
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < n; ++k) sum += ai[k] * b[k][j];
      ci[j] = sum;
    }
    c[i] = std::move(ci);
  }
  return c;
}

void matmul(std::int64_t n) {
  const double seed = 1.0 / static_cast<double>(n) / static_cast<double>(n);
  const Matrix c = multiply(matrix(n, seed), matrix(n, seed), n);
  std::printf("%.9f\n", c[n / 2][n / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 240);
  while (run.next()) {
    matmul(run.size());
    run.done();
  }
}
