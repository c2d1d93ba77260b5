// SPDX-License-Identifier: Apache-2.0
// Forces between `size` atoms by Lennard-Jones, each with a list of 64 others around it, some of them too far
// away, in double.
#include "../measure.h"

namespace {

struct Atoms {
  std::vector<double> x, y, z;
  explicit Atoms(std::int64_t n) : x(n), y(n), z(n) {}
};

void forces(const Atoms& at, const std::vector<std::int32_t>& near, Atoms& force, double cut) {
  const auto n = static_cast<std::int64_t>(at.x.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    double sx = 0.0;
    double sy = 0.0;
    double sz = 0.0;
    for (std::int64_t k = 0; k < 64; ++k) {
      const std::int32_t j = near[i * 64 + k];
      const double dx = at.x[i] - at.x[j];
      const double dy = at.y[i] - at.y[j];
      const double dz = at.z[i] - at.z[j];
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 < cut) {
        const double s2 = 1.0 / r2;
        const double s6 = s2 * s2 * s2;
        const double scale = s2 * s6 * (s6 - 0.5);
        sx += dx * scale;
        sy += dy * scale;
        sz += dz * scale;
      }
    }
    force.x[i] = sx;
    force.y[i] = sy;
    force.z[i] = sz;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 100'000);
  const std::int64_t n = run.size();
  Atoms at(n);
  Atoms force(n);
  std::vector<std::int32_t> near(n * 64);
  for (std::int64_t i = 0; i < n; ++i) {
    at.x[i] = static_cast<double>(i % 40) + measure::noise(i) * 0.5;
    at.y[i] = static_cast<double>(i / 40 % 40) + measure::noise(n + i) * 0.5;
    at.z[i] = static_cast<double>(i / 1600) + measure::noise(2 * n + i) * 0.5;
  }
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < 64; ++k) {
      // One of the neighbours in a cube of five atoms each way, but not the atom itself.
      const auto part = static_cast<std::int64_t>(measure::noise(3 * n + i * 64 + k) * 124.0);
      const std::int64_t place = part < 62 ? part : part + 1;
      const std::int64_t away = place % 5 - 2 + (place / 5 % 5 - 2) * 40 + (place / 25 - 2) * 1600;
      near[i * 64 + k] = static_cast<std::int32_t>((i + away + 16 * n) % n);
    }
  }
  while (run.next()) {
    forces(at, near, force, 6.0);
    run.done(force.x[n - 1]);
  }
  measure::check(force.x);
}
