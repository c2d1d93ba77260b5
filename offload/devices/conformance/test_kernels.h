// SPDX-License-Identifier: Apache-2.0
// Kernels for the conformance tests, compiled from bytecode to the form that a device takes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/codegen.h"
#include "offload/devices/device.h"

namespace dhpvm::offload {

// The kernels, by their functions:
//   saxpy      i < n                scalar a: f32; arrays x, y: f32        y[i] = a * x[i] + y[i]
//   cube       (i, j, k)            scalars m, n: i64; array v: i64        v[(i * m + j) * n + k] =
//                                                                          i * 10000 + j * 100 + k
//   sums       (i, j)               scalar n: i64; array x: f32            sum of x[i * n + j],
//                                                                          largest j xor 677 as i64
//   quotients  i < n                arrays d, q: i64                       q[i] = 1000 / d[i], which traps for zeros
//   gather     i < n                arrays at, x, y: i64                   y[i] = x[at[i]], which traps outside of x
class TestKernels {
 public:
  TestKernels();

  // Compiled for the device, and kept here. kUnsupported where this build or the compiler does not offer that.
  Result<const KernelImage*> image(const DeviceInfo& device, std::string_view name);

  // The code generator of this build, if it has one.
  Result<codegen::CodeGenerator*> generator();

 private:
  Result<KernelImage> compile(const DeviceInfo& device, std::uint32_t kernel);

  std::unique_ptr<bytecode::Module> module_;
  std::unique_ptr<codegen::CodeGenerator> generator_;
  std::map<std::pair<std::string, std::string>, KernelImage>
      images_;  // by the name of the device and of the kernel
};

}  // namespace dhpvm::offload
