// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of `size` complex numbers by its definition, in double.
#include <cmath>

#include "../measure.h"

namespace {

constexpr double kTau = 6.28318530717958647692;

void dft(std::int64_t n, const double* re, const double* im, double* out_re, double* out_im) {
#pragma omp parallel for
  for (std::int64_t k = 0; k < n; ++k) {
    double sum_re = 0.0;
    double sum_im = 0.0;
    for (std::int64_t t = 0; t < n; ++t) {
      const double angle = kTau * static_cast<double>(t * k) / static_cast<double>(n);
      const double s = std::sin(angle);
      const double c = std::cos(angle);
      sum_re += re[t] * c + im[t] * s;
      sum_im += im[t] * c - re[t] * s;
    }
    out_re[k] = sum_re;
    out_im[k] = sum_im;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 2000);
  const std::int64_t n = run.size();
  std::vector<double> re(n);
  std::vector<double> im(n);
  std::vector<double> out_re(n);
  std::vector<double> out_im(n);
  for (std::int64_t i = 0; i < n; ++i) {
    re[i] = measure::noise(i) - 0.5;
    im[i] = measure::noise(n + i) - 0.5;
  }
  while (run.next()) {
    dft(n, re.data(), im.data(), out_re.data(), out_im.data());
    run.done(out_re[n - 1]);
  }
  measure::check(out_re);
  measure::check(out_im);
}
