// SPDX-License-Identifier: Apache-2.0
// The loops of bench/programs/kernels as kernels in OpenCL C, with their data on the device: what is timed is
// launching them and waiting for one number of the result. `loops FOLDER DEVICE LOOP [SIZE [REPETITIONS
// [paced]]]`, with the folder of the kernels; the rest as all baselines.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string_view>

#include "../measure.h"
#include "device.h"

namespace {

using measure::Run;
using opencl::Buffer;
using opencl::Device;
using opencl::Grid;
using opencl::Kernel;
using opencl::Local;

// Groups of this size suit a GPU, and a processor's vectors. Rows of them, where a loop has several dimensions.
constexpr Grid kGroup = {512, 1, 1};

Grid line(std::int64_t n) { return {static_cast<std::size_t>(n), 1, 1}; }
Grid square(std::int64_t n) { return {static_cast<std::size_t>(n), static_cast<std::size_t>(n), 1}; }
Grid cube(std::int64_t n) {
  return {static_cast<std::size_t>(n), static_cast<std::size_t>(n), static_cast<std::size_t>(n)};
}

// Sums want as many groups as keep the device busy, and no more. On a processor a group is one work-item,
// which goes through its part from the beginning to the end; on a GPU adjacent work-items read
// neighbours.
struct SumShape {
  explicit SumShape(const Device& device)
      : groups(device.compute_units() * (device.is_cpu() ? 4 : 32)),
        group{device.is_cpu() ? 1u : 256u, 1, 1} {}
  Grid items() const { return {groups * group[0], 1, 1}; }

  std::size_t groups;
  Grid group;
};

template <typename T, typename Value>
std::vector<T> filled(std::int64_t count, Value&& value) {
  std::vector<T> values(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(value(i));
  return values;
}

void saxpy(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer x = device.upload(filled<float>(n, measure::noise));
  const Buffer y = device.upload(filled<float>(n, [&](std::int64_t i) { return measure::noise(n + i); }));
  const Kernel kernel(device, "saxpy.cl", "saxpy", "");
  while (run.next()) {
    for (int pass = 0; pass < 15; ++pass) kernel.launch(line(n), kGroup, 0.5f, x, y);
    run.done(device.at<float>(y, n - 1));
  }
  measure::check(device.download<float>(y, n));
}

void add_image(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const std::int64_t bytes = n * n * 3;
  const std::int64_t vectors = (bytes + 15) / 16;
  const auto pixels = [&](std::int64_t from) {
    auto values =
        filled<std::uint8_t>(bytes, [&](std::int64_t i) { return measure::noise(from + i) * 256.0; });
    values.resize(vectors * 16);
    return device.upload(values);
  };
  const Buffer a = pixels(0);
  const Buffer b = pixels(bytes);
  const Buffer sum = device.upload(std::vector<std::uint8_t>(vectors * 16));
  const Kernel kernel(device, "add_image.cl", "add_image", "");
  while (run.next()) {
    for (int pass = 0; pass < 20; ++pass) kernel.launch(line(vectors), kGroup, a, b, sum);
    run.done(device.at<std::uint8_t>(sum, bytes - 1));
  }
  measure::check(device.download<std::uint8_t>(sum, bytes));
}

void stencil3d(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const std::vector<float> places = filled<float>(n * n * n, measure::noise);
  const Buffer first = device.upload(places);
  const Buffer second = device.upload(places);
  const Buffer* now = &first;
  const Buffer* next = &second;
  const Kernel kernel(device, "stencil3d.cl", "stencil3d", "");
  while (run.next()) {
    for (int pass = 0; pass < 4; ++pass) {
      kernel.launch(cube(n - 2), kGroup, n, *now, *next);
      std::swap(now, next);
    }
    run.done(device.at<float>(*now, (n + 1) * n + 1));
  }
  measure::check(device.download<float>(*now, n * n * n));
}

void convolution2d(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer picture = device.upload(filled<float>(n * n, measure::noise));
  const Buffer weights =
      device.upload(filled<float>(25, [](std::int64_t i) { return measure::noise(-1 - i) - 0.5; }));
  const Buffer out = device.upload(std::vector<float>(n * n));
  const Kernel kernel(device, "convolution2d.cl", "convolution2d", "");
  while (run.next()) {
    for (int pass = 0; pass < 12; ++pass) kernel.launch(square(n - 4), kGroup, n, picture, weights, out);
    run.done(device.at<float>(out, n / 2 * n + n / 2));
  }
  measure::check(device.download<float>(out, n * n));
}

void black_scholes(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer spot =
      device.upload(filled<float>(n, [](std::int64_t i) { return 5.0 + 25.0 * measure::noise(i); }));
  const Buffer strike =
      device.upload(filled<float>(n, [&](std::int64_t i) { return 1.0 + 99.0 * measure::noise(n + i); }));
  const Buffer years = device.upload(
      filled<float>(n, [&](std::int64_t i) { return 0.25 + 9.75 * measure::noise(2 * n + i); }));
  const Buffer call = device.upload(std::vector<float>(n));
  const Buffer put = device.upload(std::vector<float>(n));
  const Kernel kernel(device, "black_scholes.cl", "black_scholes", "");
  while (run.next()) {
    kernel.launch(line(n), kGroup, spot, strike, years, 0.02f, 0.3f, call, put);
    run.done(device.at<float>(call, n - 1));
  }
  measure::check(device.download<float>(call, n));
  measure::check(device.download<float>(put, n));
}

void monte_carlo(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const SumShape shape(device);
  const Buffer counts = device.upload(std::vector<std::int64_t>(shape.groups));
  const Kernel kernel(device, "monte_carlo.cl", "monte_carlo", "");
  std::vector<double> result(1);
  while (run.next()) {
    kernel.launch(shape.items(), shape.group, n, counts, Local{shape.group[0] * sizeof(std::int64_t)});
    const std::vector<std::int64_t> all = device.download<std::int64_t>(counts, shape.groups);
    result[0] = 4.0 * static_cast<double>(std::accumulate(all.begin(), all.end(), std::int64_t{0})) /
                static_cast<double>(n);
    run.done(result[0]);
  }
  measure::check(result);
}

void blur(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  constexpr std::int32_t kRadius = 4;
  constexpr double kSigma = kRadius / 2.0;
  const auto weight = [](std::int64_t i) {
    return std::exp(-0.5 * static_cast<double>(i * i) / (kSigma * kSigma));
  };
  double sum = weight(0);
  for (std::int64_t i = 1; i <= kRadius; ++i) sum += 2.0 * weight(i);
  const Buffer weights =
      device.upload(filled<float>(kRadius + 1, [&](std::int64_t i) { return weight(i) / sum; }));
  const Buffer picture =
      device.upload(filled<float>(n * n, [](std::int64_t i) { return 255.0 * measure::noise(i); }));
  const Buffer rows = device.upload(std::vector<float>(n * n));
  const Buffer out = device.upload(std::vector<float>(n * n));
  const Kernel along_rows(device, "blur.cl", "blur_rows", "");
  const Kernel along_columns(device, "blur.cl", "blur_columns", "");
  while (run.next()) {
    along_rows.launch(square(n), kGroup, n, kRadius, picture, weights, rows);
    along_columns.launch(square(n), kGroup, n, kRadius, rows, weights, out);
    run.done(device.at<float>(out, n * n - 1));
  }
  measure::check(device.download<float>(out, n * n));
}

void euler(const Device& device, Run& run) {
  constexpr std::int64_t kCount = 145;
  const Buffer powers =
      device.upload(filled<std::int64_t>(kCount, [](std::int64_t i) { return i * i * i * i * i; }));
  const Buffer found = device.upload(std::vector<std::int64_t>(kCount * kCount));
  const Kernel kernel(device, "euler.cl", "euler", "");
  // Small groups: work-items differ in their work.
  constexpr Grid kSmall = {16, 1, 1};
  while (run.next()) {
    kernel.launch({kCount - 1, static_cast<std::size_t>(run.size()), 1}, kSmall, kCount, powers,
                  kCount - run.size(), found);
    run.done(static_cast<double>(device.at<std::int64_t>(found, 144 * kCount + 27)));
  }
  measure::check(device.download<std::int64_t>(found, kCount * kCount));
}

void nbody(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer bodies = device.upload(filled<float>(4 * n, [&](std::int64_t i) {
    return i % 4 == 3 ? 1.0f / static_cast<float>(n) : measure::noise_f32(i / 4 * 3 + i % 4);
  }));
  const Buffer velocities = device.upload(std::vector<float>(4 * n));
  const Kernel kick(device, "nbody.cl", "kick", "");
  const Kernel drift(device, "nbody.cl", "drift", "");
  while (run.next()) {
    kick.launch(line(n), kGroup, n, bodies, velocities, 0.001f);
    drift.launch(line(n), kGroup, bodies, velocities, 0.001f);
    run.done(device.at<float>(bodies, 0));
  }
  const std::vector<float> all = device.download<float>(bodies, 4 * n);
  measure::check(filled<float>(3 * n, [&](std::int64_t i) { return all[i / 3 * 4 + i % 3]; }));
}

template <typename T>
void gemm(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const auto noise = [](std::int64_t i) { return measure::noise(i) - 0.5; };
  const Buffer a = device.upload(filled<T>(n * n, noise));
  const Buffer b = device.upload(filled<T>(n * n, [&](std::int64_t i) { return noise(n * n + i); }));
  const Buffer c = device.upload(std::vector<T>(n * n));
  // Processors have caches, and no other local memory: copying to it is work for nothing.
  const std::size_t tile = opencl::part_of(static_cast<std::size_t>(n), 16);
  const Grid group = device.is_cpu() ? kGroup : Grid{tile, tile, 1};
  const Kernel kernel(device, "gemm.cl", device.is_cpu() ? "gemm" : "gemm_tiled",
                      "-DTILE=" + std::to_string(tile) + " -DREAL=" + (sizeof(T) == 4 ? "float" : "double"));
  while (run.next()) {
    kernel.launch(square(n), group, n, a, b, c);
    run.done(device.at<T>(c, n * n - 1));
  }
  measure::check(device.download<T>(c, n * n));
}

void mandelbrot(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer steps = device.upload(std::vector<std::int32_t>(n * n));
  const Kernel kernel(device, "mandelbrot.cl", "mandelbrot", "");
  while (run.next()) {
    kernel.launch(square(n), kGroup, n, steps);
    run.done(device.at<std::int32_t>(steps, n * n - 1));
  }
  measure::check(device.download<std::int32_t>(steps, n * n));
}

void julia(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer picture = device.upload(std::vector<std::uint8_t>(n * n));
  const Kernel kernel(device, "julia.cl", "julia", "");
  while (run.next()) {
    kernel.launch(square(n), kGroup, n, picture, -0.8f, 0.156f);
    run.done(device.at<std::uint8_t>(picture, n / 2 * n + n / 2));
  }
  measure::check(device.download<std::uint8_t>(picture, n * n));
}

void dft(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer re = device.upload(filled<double>(n, [](std::int64_t i) { return measure::noise(i) - 0.5; }));
  const Buffer im =
      device.upload(filled<double>(n, [&](std::int64_t i) { return measure::noise(n + i) - 0.5; }));
  const Buffer out_re = device.upload(std::vector<double>(n));
  const Buffer out_im = device.upload(std::vector<double>(n));
  const Kernel kernel(device, "dft.cl", "dft", "");
  while (run.next()) {
    kernel.launch(line(n), kGroup, n, re, im, out_re, out_im);
    run.done(device.at<double>(out_re, n - 1));
  }
  measure::check(device.download<double>(out_re, n));
  measure::check(device.download<double>(out_im, n));
}

template <typename T>
void dot(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  constexpr std::int64_t kLanes = 64 / sizeof(T);
  const std::int64_t vectors = (n + kLanes - 1) / kLanes;
  const auto vector_of = [&](std::int64_t from) {
    std::vector<T> values = filled<T>(n, [&](std::int64_t i) { return measure::noise(from + i); });
    values.resize(vectors * kLanes);
    return device.upload(values);
  };
  const Buffer x = vector_of(0);
  const Buffer y = vector_of(n);
  const SumShape shape(device);
  const Buffer partials = device.upload(std::vector<T>(shape.groups * kLanes));
  const Kernel kernel(device, "dot.cl", "dot_product",
                      sizeof(T) == 4 ? "-DVECTOR=float16" : "-DVECTOR=double8");
  std::vector<T> result(1);
  while (run.next()) {
    for (int pass = 0; pass < 16; ++pass) {
      kernel.launch(shape.items(), shape.group, vectors, x, y, partials, Local{shape.group[0] * 64});
      const std::vector<T> all = device.download<T>(partials, shape.groups * kLanes);
      result[0] = std::accumulate(all.begin(), all.end(), T{0});
    }
    run.done(static_cast<double>(result[0]));
  }
  measure::check(result);
}

void kmeans(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const Buffer points = device.upload(filled<float>(n * 8, measure::noise));
  const Buffer centres =
      device.upload(filled<float>(128, [](std::int64_t i) { return measure::noise(-1 - i); }));
  const Buffer nearest = device.upload(std::vector<std::int32_t>(n));
  const Kernel kernel(device, "kmeans.cl", "kmeans", "-DCLUSTERS=16 -DDIMENSIONS=8");
  while (run.next()) {
    kernel.launch(line(n), kGroup, points, centres, nearest);
    run.done(device.at<std::int32_t>(nearest, n - 1));
  }
  measure::check(device.download<std::int32_t>(nearest, n));
}

void jacobi(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  const std::vector<double> places =
      filled<double>(n * n, [&](std::int64_t i) { return i < n ? 100.0 : 0.0; });
  const Buffer first = device.upload(places);
  const Buffer second = device.upload(places);
  const Buffer* now = &first;
  const Buffer* next = &second;
  const Kernel kernel(device, "jacobi.cl", "jacobi", "");
  while (run.next()) {
    for (int pass = 0; pass < 40; ++pass) {
      kernel.launch(square(n - 2), kGroup, n, *now, *next);
      std::swap(now, next);
    }
    run.done(device.at<double>(*now, n + 1));
  }
  measure::check(device.download<double>(*now, n * n));
}

void spmv(const Device& device, Run& run) {
  const std::int64_t n = run.size();
  // Rows of 16 to 48 numbers, at columns that are random, but not far from the diagonal.
  std::vector<std::int64_t> row(n + 1);
  for (std::int64_t i = 0; i < n; ++i)
    row[i + 1] = row[i] + 16 + static_cast<std::int64_t>(measure::noise(i) * 33.0);
  std::vector<std::int32_t> column(row[n]);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = row[i]; k < row[i + 1]; ++k) {
      const std::int64_t away = static_cast<std::int64_t>(measure::noise(n + k) * 4096.0) - 2048;
      column[k] = static_cast<std::int32_t>((i + away + 4096 * n) % n);
    }
  }
  const Buffer rows = device.upload(row);
  const Buffer columns = device.upload(column);
  const Buffer values =
      device.upload(filled<double>(row[n], [](std::int64_t k) { return measure::noise(-1 - k) - 0.5; }));
  const Buffer x = device.upload(filled<double>(n, [](std::int64_t i) { return measure::noise(i) - 0.5; }));
  const Buffer y = device.upload(std::vector<double>(n));
  const Kernel kernel(device, "spmv.cl", "spmv", "");
  while (run.next()) {
    for (int pass = 0; pass < 20; ++pass) kernel.launch(line(n), kGroup, rows, columns, values, x, y);
    run.done(device.at<double>(y, n - 1));
  }
  measure::check(device.download<double>(y, n));
}

struct Loop {
  std::string_view name;
  void (*function)(const Device&, Run&);
};
constexpr Loop kLoops[] = {
    {"saxpy", saxpy},
    {"add_image", add_image},
    {"stencil3d", stencil3d},
    {"convolution2d", convolution2d},
    {"blur", blur},
    {"black_scholes", black_scholes},
    {"monte_carlo", monte_carlo},
    {"euler", euler},
    {"nbody", nbody},
    {"sgemm", gemm<float>},
    {"dgemm", gemm<double>},
    {"mandelbrot", mandelbrot},
    {"dft", dft},
    {"julia", julia},
    {"dot", dot<float>},
    {"dot_f64", dot<double>},
    {"kmeans", kmeans},
    {"jacobi", jacobi},
    {"spmv", spmv},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Loop& loop : kLoops) {
    if (argc < 4 || loop.name != argv[3]) continue;
    const Device device(argv[2], argv[1]);
    Run run(argc - 3, argv + 3, 1000);
    loop.function(device, run);
    return 0;
  }
  std::fprintf(stderr, "usage: loops FOLDER DEVICE LOOP [SIZE [REPETITIONS [paced]]]; loops:");
  for (const Loop& loop : kLoops)
    std::fprintf(stderr, " %.*s", static_cast<int>(loop.name.size()), loop.name.data());
  std::fprintf(stderr, "\n");
  return 2;
}
