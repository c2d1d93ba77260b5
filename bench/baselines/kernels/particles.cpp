// SPDX-License-Identifier: Apache-2.0
// Moves `size` particles whose fields have different widths, and turns those that leave the box.
#include "../measure.h"

namespace {

struct Particle {
  double x, y;
  float vx, vy;
  std::int32_t hits;
  std::uint8_t kind;
  bool alive;
};

void move_all(std::vector<Particle>& particles, double dt) {
  const auto n = static_cast<std::int64_t>(particles.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    Particle& p = particles[i];
    if (!p.alive) continue;
    p.x += static_cast<double>(p.vx) * dt;
    p.y += static_cast<double>(p.vy) * dt;
    if (p.x < 0.0 || p.x > 1.0) {
      p.vx = -p.vx;
      ++p.hits;
    }
    if (p.y < 0.0 || p.y > 1.0) {
      p.vy = -p.vy;
      ++p.hits;
    }
    if (p.kind == 1) p.vy = p.vy - 0.001f;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 1'000'000);
  const std::int64_t n = run.size();
  std::vector<Particle> particles(n);
  for (std::int64_t i = 0; i < n; ++i) {
    particles[i] = {.x = measure::noise(i),
                    .y = measure::noise(n + i),
                    .vx = static_cast<float>(measure::noise(2 * n + i) - 0.5),
                    .vy = static_cast<float>(measure::noise(3 * n + i) - 0.5),
                    .hits = 0,
                    .kind = static_cast<std::uint8_t>(i % 3),
                    .alive = i % 16 != 0};
  }
  while (run.next()) {
    move_all(particles, 0.01);
    run.done(particles.back().x);
  }
  std::vector<double> out(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const Particle& p = particles[i];
    out[i] = p.x + p.y + static_cast<double>(p.vy) + p.hits;
  }
  measure::check(out);
}
