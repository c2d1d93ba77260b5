// SPDX-License-Identifier: Apache-2.0
// The nearest centre for each point. CLUSTERS and DIMENSIONS are known when it is compiled.
#pragma OPENCL FP_CONTRACT OFF

kernel void kmeans(global const float* restrict points, constant float* restrict centres,
                   global int* restrict nearest) {
  const size_t i = get_global_id(0);
  float place[DIMENSIONS];
#pragma unroll
  for (int d = 0; d < DIMENSIONS; ++d) place[d] = points[i * DIMENSIONS + d];
  float best = FLT_MAX;
  int found = 0;
  for (int c = 0; c < CLUSTERS; ++c) {
    float distance = 0.0f;
#pragma unroll
    for (int d = 0; d < DIMENSIONS; ++d) {
      const float difference = place[d] - centres[c * DIMENSIONS + d];
      distance += difference * difference;
    }
    if (distance < best) {
      best = distance;
      found = c;
    }
  }
  nearest[i] = found;
}
