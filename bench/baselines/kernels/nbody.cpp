// SPDX-License-Identifier: Apache-2.0
// One step of `size` bodies under their own gravity, all pairs, in float.
#include <cmath>

#include "../measure.h"

namespace {

struct Body {
  float x, y, z, vx, vy, vz, mass;
};

// Keeps close encounters finite.
constexpr float kSoftening = 0.01f;

void kick(std::int64_t n, Body* bodies, float dt) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = bodies[i].x;
    const float y = bodies[i].y;
    const float z = bodies[i].z;
    float ax = 0.0f;
    float ay = 0.0f;
    float az = 0.0f;
    for (std::int64_t j = 0; j < n; ++j) {
      const float dx = bodies[j].x - x;
      const float dy = bodies[j].y - y;
      const float dz = bodies[j].z - z;
      const float d2 = dx * dx + dy * dy + dz * dz + kSoftening;
      const float pull = bodies[j].mass / (d2 * std::sqrt(d2));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    bodies[i].vx += dt * ax;
    bodies[i].vy += dt * ay;
    bodies[i].vz += dt * az;
  }
}

void drift(std::int64_t n, Body* bodies, float dt) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    bodies[i].x += dt * bodies[i].vx;
    bodies[i].y += dt * bodies[i].vy;
    bodies[i].z += dt * bodies[i].vz;
  }
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 4000);
  const std::int64_t n = run.size();
  std::vector<Body> bodies(n);
  for (std::int64_t i = 0; i < n; ++i) {
    bodies[i] = {
        measure::noise_f32(3 * i),   measure::noise_f32(3 * i + 1), measure::noise_f32(3 * i + 2), 0, 0, 0,
        1.0f / static_cast<float>(n)};
  }
  while (run.next()) {
    kick(n, bodies.data(), 0.001f);
    drift(n, bodies.data(), 0.001f);
    run.done(bodies[0].x);
  }
  std::vector<float> places;
  for (const Body& body : bodies) places.insert(places.end(), {body.x, body.y, body.z});
  measure::check(places);
}
