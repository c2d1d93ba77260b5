// SPDX-License-Identifier: Apache-2.0
// Cross sections as a transport of neutrons looks them up: for each of `size` energies a search in the grid of all
// energies, and from there three sections of each of 12 nuclides, between the neighbours in the grid of each, in
// double.
#include <array>

#include "../measure.h"

namespace {

constexpr std::int64_t kNuclides = 12;
constexpr std::int64_t kPoints = 2000;
constexpr std::int64_t kEnergies = kNuclides * kPoints;
using Point = std::array<double, 4>;

void look_up(const std::vector<double>& energies, const std::vector<std::int32_t>& index,
             const std::vector<Point>& grid, std::vector<double>& out) {
  const auto n = static_cast<std::int64_t>(out.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const double energy = measure::noise(i * 7);
    std::int64_t low = 0;
    std::int64_t high = kEnergies - 1;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (energies[middle] > energy) {
        high = middle;
      } else {
        low = middle;
      }
    }
    double total = 0.0;
    double elastic = 0.0;
    double fission = 0.0;
    for (std::int64_t nuclide = 0; nuclide < kNuclides; ++nuclide) {
      const Point& a = grid[index[low * kNuclides + nuclide]];
      const Point& b = grid[index[low * kNuclides + nuclide] + 1];
      const double part = (b[0] - energy) / (b[0] - a[0]);
      total += b[1] - part * (b[1] - a[1]);
      elastic += b[2] - part * (b[2] - a[2]);
      fission += b[3] - part * (b[3] - a[3]);
    }
    out[i] = total + 0.5 * elastic + 0.25 * fission;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 200'000);
  std::vector<double> energies(kEnergies);
  std::vector<std::int32_t> index(kEnergies * kNuclides);
  std::vector<Point> grid(kEnergies);
  for (std::int64_t e = 0; e < kEnergies; ++e) {
    energies[e] = static_cast<double>(e) / static_cast<double>(kEnergies);
  }
  for (std::int64_t k = 0; k < kNuclides; ++k) {
    for (std::int64_t p = 0; p < kPoints; ++p) {
      const std::int64_t place = k * kPoints + p;
      grid[place][0] = (static_cast<double>(p) + 0.5 * measure::noise(place)) / static_cast<double>(kPoints);
      for (std::int64_t c = 1; c < 4; ++c) grid[place][c] = measure::noise(place * 4 + c);
    }
    std::int64_t p = 0;
    for (std::int64_t e = 0; e < kEnergies; ++e) {
      while (p < kPoints - 2 && grid[k * kPoints + p + 1][0] <= energies[e]) ++p;
      index[e * kNuclides + k] = static_cast<std::int32_t>(k * kPoints + p);
    }
  }
  std::vector<double> out(run.size());
  while (run.next()) {
    look_up(energies, index, grid, out);
    run.done(out.back());
  }
  measure::check(out);
}
