// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic on objects: the planets of the outer solar system. Each is an object on the heap,
// because it is of a class in the language.
#include <cmath>
#include <cstdio>
#include <memory>

#include "../measure.h"

namespace {

struct Body {
  double x, y, z, vx, vy, vz, mass;
};
using Bodies = std::vector<std::unique_ptr<Body>>;

constexpr double kPi = 3.14159265358979323846;
constexpr double kSolarMass = 4.0 * kPi * kPi;
constexpr double kYear = 365.24;

Bodies planets() {
  const Body all[] = {{0, 0, 0, 0, 0, 0, kSolarMass},
                      {4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
                       0.00166007664274403694 * kYear, 0.00769901118419740425 * kYear,
                       -0.0000690460016972063023 * kYear, 0.000954791938424326609 * kSolarMass},
                      {8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
                       -0.00276742510726411 * kYear, 0.00499852801234917238 * kYear,
                       0.0000230417297573763929 * kYear, 0.000285885980670130812 * kSolarMass},
                      {12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
                       0.00296460137564761618 * kYear, 0.00237847173959480950 * kYear,
                       -0.0000296589568540237556 * kYear, 0.0000436624404335156298 * kSolarMass},
                      {15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
                       0.00268067772490389322 * kYear, 0.00162824170038242295 * kYear,
                       -0.0000951592254519715870 * kYear, 0.0000515138902046611451 * kSolarMass}};
  Bodies bodies;
  for (const Body& body : all) bodies.push_back(std::make_unique<Body>(body));
  return bodies;
}

double energy(const Bodies& bodies) {
  double e = 0.0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Body& b = *bodies[i];
    e += 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz);
    for (std::size_t j = i + 1; j < bodies.size(); ++j) {
      const Body& c = *bodies[j];
      const double dx = b.x - c.x;
      const double dy = b.y - c.y;
      const double dz = b.z - c.z;
      e -= b.mass * c.mass / std::sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return e;
}

void advance(Bodies& bodies, double dt) {
  const std::size_t n = bodies.size();
  for (std::size_t i = 0; i < n; ++i) {
    Body& b = *bodies[i];
    for (std::size_t j = i + 1; j < n; ++j) {
      Body& c = *bodies[j];
      const double dx = b.x - c.x;
      const double dy = b.y - c.y;
      const double dz = b.z - c.z;
      const double d2 = dx * dx + dy * dy + dz * dz;
      const double mag = dt / (d2 * std::sqrt(d2));
      b.vx -= dx * c.mass * mag;
      b.vy -= dy * c.mass * mag;
      b.vz -= dz * c.mass * mag;
      c.vx += dx * b.mass * mag;
      c.vy += dy * b.mass * mag;
      c.vz += dz * b.mass * mag;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    Body& b = *bodies[i];
    b.x += dt * b.vx;
    b.y += dt * b.vy;
    b.z += dt * b.vz;
  }
}

void nbody(std::int64_t n) {
  Bodies bodies = planets();
  double px = 0.0;
  double py = 0.0;
  double pz = 0.0;
  for (const auto& b : bodies) {
    px += b->vx * b->mass;
    py += b->vy * b->mass;
    pz += b->vz * b->mass;
  }
  bodies[0]->vx = -px / kSolarMass;
  bodies[0]->vy = -py / kSolarMass;
  bodies[0]->vz = -pz / kSolarMass;
  std::printf("%.9f\n", energy(bodies));
  for (std::int64_t i = 0; i < n; ++i) advance(bodies, 0.01);
  std::printf("%.9f\n", energy(bodies));
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 200'000);
  while (run.next()) {
    nbody(run.size());
    run.done();
  }
}
