// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels.h"

#include <string>
#include <string_view>

namespace dhpvm::tools {
namespace {

struct Program {
  std::string_view name;
  std::string_view text;
};

// The tables write texts as ""sv.
using std::string_view_literals::operator""sv;

constexpr Program kPrograms[] = {
#include "batching_programs.inc"
#include "remote_programs.inc"
};

// In order from memory-bound to compute-bound.
constexpr Kernel kKernels[] = {
    {"saxpy", "saxpy", 0, 2, 12, 0, "y += a x, in place"},
    {"vector-add", "vector_add", 0, 1, 12, 0, "c = a + b"},
    {"black-scholes", "black_scholes", 0, 120, 20, 1e-5, "prices of options: 3 arrays in, 2 out"},
    {"polynomial-1", "polynomial", 1, 1, 8, 0, "1 operation for each element"},
    {"polynomial-4", "polynomial", 4, 4, 8, 0, "4 operations for each element"},
    {"polynomial-16", "polynomial", 16, 16, 8, 0, "16 operations for each element"},
    {"polynomial-64", "polynomial", 64, 64, 8, 0, "64 operations for each element"},
    {"polynomial-256", "polynomial", 256, 256, 8, 0, "256 operations for each element"},
    {"polynomial-1024", "polynomial", 1024, 1024, 8, 0, "1024 operations for each element"},
    {"polynomial-4096", "polynomial", 4096, 4096, 8, 0, "4096 operations for each element"},
    {"convolution2d", "convolution2d", 0, 50, 8, 0, "5 x 5 filter of a picture: halos of two rows"},
    {"stencil3d", "stencil3d", 0, 8, 8, 0, "six neighbours in a block: halos of a layer"},
    {"gemv", "gemv", 0, 2048, 4100, 0, "matrix times vector: one input stays on the device"},
    {"sgemm", "sgemm", 0, 256, 8, 0, "matrix product in blocks of rows"},
    {"dft", "dft", 0, 512, 16, 0, "Fourier transforms of length 64 by their definition"},
    {"nbody", "nbody", 0, 2560, 24, 0, "the pull of 128 bodies on many"},
    {"mandelbrot", "mandelbrot", 0, 200, 4, 0, "no input, and uneven work"},
    {"monte-carlo", "monte_carlo", 0, 120, 0, 0, "random points: neither input nor output"},
    {"dot", "dot", 0, 2, 8, 0, "scalar product: nothing but input"},
    {"sum", "sum", 0, 3, 8, 0, "three reductions of one array"},
    {"kmeans", "kmeans", 0, 100, 20, 0, "nearest of 8 centres, and a sum"},
    {"chain", "chain", 0, 2, 11, 0, "three loops, each on what the last one made"},
    {"file-checksum", "file_checksum", 0, 12'288, 4104, 0, "a file, read while a device works on it"},
};

}  // namespace

std::span<const Kernel> kernels() { return kKernels; }

Result<const Kernel*> find_kernel(std::string_view name) {
  std::string names;
  for (const Kernel& kernel : kKernels) {
    if (kernel.name == name) return &kernel;
    names += names.empty() ? "" : ", ";
    names += kernel.name;
  }
  return Error(ErrorCode::kNotFound, "there is no kernel '" + std::string(name) + "'; there are: " + names);
}

Result<std::string_view> program_text(std::string_view name) {
  for (const Program& program : kPrograms) {
    if (program.name == name) return program.text;
  }
  return Error(ErrorCode::kNotFound, "there is no program '" + std::string(name) + "' in dhpvm-bench");
}

}  // namespace dhpvm::tools
