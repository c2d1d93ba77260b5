// SPDX-License-Identifier: Apache-2.0
// y = A x for a sparse matrix of `size` rows in compressed form, with 32 numbers in a row on average, in
// double.
#include "../measure.h"

namespace {

struct Matrix {
  std::vector<std::int64_t>
      row;  // where each row begins in the other two, and at last where the last one ends
  std::vector<std::int32_t> column;
  std::vector<double> value;

  void times(const std::vector<double>& x, std::vector<double>& y) const {
    const auto n = static_cast<std::int64_t>(y.size());
#pragma omp parallel for
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::int64_t k = row[i]; k < row[i + 1]; ++k) sum += value[k] * x[column[k]];
      y[i] = sum;
    }
  }
};

// Rows of 16 to 48 numbers, at columns that are random, but not far from the diagonal.
Matrix matrix(std::int64_t n) {
  Matrix m;
  m.row.resize(n + 1);
  for (std::int64_t i = 0; i < n; ++i) {
    m.row[i + 1] = m.row[i] + 16 + static_cast<std::int64_t>(measure::noise(i) * 33.0);
  }
  m.column.resize(m.row[n]);
  m.value.resize(m.row[n]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = m.row[i]; k < m.row[i + 1]; ++k) {
      const std::int64_t away = static_cast<std::int64_t>(measure::noise(n + k) * 4096.0) - 2048;
      m.column[k] = static_cast<std::int32_t>((i + away + 4096 * n) % n);
      m.value[k] = measure::noise(-1 - k) - 0.5;
    }
  }
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 50'000);
  const std::int64_t n = run.size();
  const Matrix a = matrix(n);
  std::vector<double> x(n);
  std::vector<double> y(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = measure::noise(i) - 0.5;
  while (run.next()) {
    for (int pass = 0; pass < 20; ++pass) a.times(x, y);
    run.done(y[n - 1]);
  }
  measure::check(y);
}
