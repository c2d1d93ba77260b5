// SPDX-License-Identifier: Apache-2.0
// As much of OpenCL as the baselines need: one device, one queue in order, buffers on the device, kernels
// from files. Any failure ends the program. Only the table of entry points is shared with the project's own OpenCL
// device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "offload/drivers/opencl/api.h"

namespace opencl {

using Grid = std::array<std::size_t, 3>;

// Local memory of a group, as an argument of a kernel.
struct Local {
  std::size_t bytes;
};

class Device;

// The largest number up to `most` that divides `count`.
std::size_t part_of(std::size_t count, std::size_t most);

// Memory of the device, for elements of one type.
class Buffer {
 public:
  Buffer(const Device& device, std::size_t bytes, const void* contents);
  Buffer(Buffer&& other) noexcept : device_(other.device_), memory_(other.memory_) {
    other.memory_ = nullptr;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  cl_mem memory() const { return memory_; }
  void read(std::size_t offset, std::size_t bytes, void* to) const;

 private:
  const Device* device_;
  cl_mem memory_ = nullptr;
};

class Kernel {
 public:
  Kernel(const Device& device, const std::string& file, const std::string& name, const std::string& options);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  // Exactly `items` work-items, in groups of at most `group`. Kernels need not ask whether they are beyond
  // the end, which would keep some compilers (PoCL's) from using vectors.
  template <typename... Arguments>
  void launch(const Grid& items, const Grid& group, const Arguments&... arguments) const {
    cl_uint index = 0;
    (set(index++, arguments), ...);
    enqueue(items, group);
  }

 private:
  template <typename T>
  void set(cl_uint index, const T& value) const {
    if constexpr (std::is_same_v<T, Buffer>) {
      cl_mem const memory = value.memory();
      set_bytes(index, sizeof(cl_mem), static_cast<const void*>(&memory));
    } else if constexpr (std::is_same_v<T, Local>) {
      set_bytes(index, value.bytes, nullptr);
    } else {
      set_bytes(index, sizeof(T), &value);
    }
  }
  void set_bytes(cl_uint index, std::size_t bytes, const void* value) const;
  void enqueue(const Grid& items, const Grid& group) const;

  const Device& device_;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

class Device {
 public:
  // `name` is what --device=opencl:N calls it; kernels are read from files in `folder`.
  Device(const std::string& name, std::string folder);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  template <typename T>
  Buffer upload(const std::vector<T>& values) const {
    return {*this, values.size() * sizeof(T), values.data()};
  }
  template <typename T>
  std::vector<T> download(const Buffer& buffer, std::size_t count) const {
    std::vector<T> values(count);
    buffer.read(0, count * sizeof(T), values.data());
    return values;
  }
  // One element, when everything before is done.
  template <typename T>
  T at(const Buffer& buffer, std::size_t index) const {
    T value{};
    buffer.read(index * sizeof(T), sizeof(T), &value);
    return value;
  }
  std::size_t compute_units() const { return compute_units_; }
  bool is_cpu() const { return is_cpu_; }

 private:
  friend Buffer;
  friend Kernel;
  std::shared_ptr<const dhpvm::offload::OpenClApi> api_;
  const std::string folder_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::size_t compute_units_ = 1;
  bool is_cpu_ = false;
  std::string options_;
};

}  // namespace opencl
