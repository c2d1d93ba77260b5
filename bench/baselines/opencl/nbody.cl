// SPDX-License-Identifier: Apache-2.0
// Bodies under their own gravity, all pairs. A body is a vector of place and mass, and one of velocity.
#pragma OPENCL FP_CONTRACT OFF

kernel void kick(long n, global const float4* restrict bodies, global float4* restrict velocities, float dt) {
  const size_t i = get_global_id(0);
  const float4 me = bodies[i];
  float ax = 0.0f;
  float ay = 0.0f;
  float az = 0.0f;
  for (long j = 0; j < n; ++j) {
    const float4 other = bodies[j];
    const float dx = other.x - me.x;
    const float dy = other.y - me.y;
    const float dz = other.z - me.z;
    const float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
    const float pull = other.w / (d2 * sqrt(d2));
    ax += dx * pull;
    ay += dy * pull;
    az += dz * pull;
  }
  velocities[i] += dt * (float4)(ax, ay, az, 0.0f);
}

kernel void drift(global float4* restrict bodies, global const float4* restrict velocities, float dt) {
  const size_t i = get_global_id(0);
  bodies[i] += dt * velocities[i];
}
