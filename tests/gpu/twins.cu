// SPDX-License-Identifier: Apache-2.0
// Loops of bench/programs/kernels as one writes them first in CUDA: a thread for each iteration, indices of 32 bits.
// gpu_registers.py compares what nvcc and we make of them.

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int rows, int inner, int columns) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows || j >= columns) return;
  float sum = 0;
  for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
  c[i * columns + j] = sum;
}

extern "C" __global__ void dgemm(const double* a, const double* b, double* c, int rows, int inner, int columns) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows || j >= columns) return;
  double sum = 0;
  for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
  c[i * columns + j] = sum;
}

extern "C" __global__ void matmul_nt(const float* a, const float* b, float* c, int rows, int inner, int columns) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows || j >= columns) return;
  float sum = 0;
  for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[j * inner + k];
  c[i * columns + j] = sum;
}

extern "C" __global__ void row_sums(const float* a, float* sums, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
  for (int j = 0; j < columns; ++j) sum += a[i * columns + j];
  sums[i] = sum;
}

extern "C" __global__ void transpose(const float* a, float* out, int rows, int columns) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows && j < columns) out[j * rows + i] = a[i * columns + j];
}

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void stencil3d(const float* now, float* next, int depth, int rows, int columns) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  const int z = blockIdx.z * blockDim.z + threadIdx.z + 1;
  if (z >= depth - 1 || y >= rows - 1 || x >= columns - 1) return;
  const int at = (z * rows + y) * columns + x, plane = rows * columns;
  next[at] = 0.4f * now[at] + 0.1f * (now[at - plane] + now[at + plane] + now[at - columns] + now[at + columns] +
                                      now[at - 1] + now[at + 1]);
}

extern "C" __global__ void convolution2d(const float* picture, const float* weights, float* out, int rows, int columns) {
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 2, x = blockIdx.x * blockDim.x + threadIdx.x + 2;
  if (y >= rows - 2 || x >= columns - 2) return;
  float sum = 0;
  for (int dy = 0; dy < 5; ++dy) {
    for (int dx = 0; dx < 5; ++dx) sum += weights[dy * 5 + dx] * picture[(y + dy - 2) * columns + x + dx - 2];
  }
  out[y * columns + x] = sum;
}

extern "C" __global__ void remainders(long long* out, long long n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = (i * 7LL) % n;
}

struct Particle {
  float x, y, z, mass;
};

extern "C" __global__ void moments(const Particle* particles, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Particle p = particles[i];
  out[i] = (p.x * p.x + p.y * p.y + p.z * p.z) * p.mass;
}
