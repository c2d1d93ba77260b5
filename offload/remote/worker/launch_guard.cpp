// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/launch_guard.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/devices/small_indices.h"
#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

// The extents of launches with more arrays are not kept: a session may load thousands of kernels, each of which keeps
// 128.
constexpr std::size_t kMostKeptArrays = 16;
constexpr std::size_t kMostKeptScalars = 64;

// Adds the elements that an access may touch to [begin, end), as far as they lie below `size`.
void include(const Elements& touched, std::int64_t size, std::int64_t& begin, std::int64_t& end) {
  if (size <= 0 || touched.empty()) return;
  const std::int64_t low = touched.known ? std::clamp<std::int64_t>(touched.begin, 0, size) : 0;
  const std::int64_t high = touched.known ? std::clamp<std::int64_t>(touched.end, 0, size) : size;
  if (low >= high) return;
  begin = begin == end ? low : std::min(begin, low);
  end = std::max(end, high);
}

}  // namespace

Result<std::unique_ptr<LaunchGuard>> LaunchGuard::create(std::shared_ptr<const bytecode::Module> module,
                                                         std::uint32_t kernel,
                                                         std::vector<std::uint32_t> proven, Indices indices) {
  std::unique_ptr<LaunchGuard> guard(new LaunchGuard(std::move(module), kernel, std::move(proven), indices));
  for (const std::uint32_t access : guard->proven_) {
    if (access >= guard->footprint_.accesses.size() || !guard->footprint_.accesses[access].may_be_proven()) {
      return error(
          ErrorCode::kInvalidArgument,
          "access {} of kernel {} cannot be proven here: client and worker must be the same release of DHPVM",
          access, kernel);
    }
  }
  return guard;
}

LaunchGuard::LaunchGuard(std::shared_ptr<const bytecode::Module> module, std::uint32_t kernel,
                         std::vector<std::uint32_t> proven, Indices indices)
    : module_(std::move(module)),
      kernel_(kernel),
      proven_(std::move(proven)),
      indices_(indices),
      footprint_(analyse(*module_, module_->kernels[kernel])) {
  const bytecode::Function& function = module_->functions[module_->kernels[kernel].function];
  for (const bytecode::ValueType& parameter : function.signature.parameters) {
    if (!parameter.is_ref()) continue;
    const bytecode::ValueType element = module_->types[parameter.type].element;
    Element& made = elements_.emplace_back();
    made.rank = module_->types[parameter.type].rank;
    if (element.is_ref()) {
      // For a struct, the fields are laid out by layout().
      const bytecode::Type& type = module_->types[element.type];
      made.bytes = type.size;
      made.alignment = 1;
      for (const bytecode::Field& field : type.fields) {
        if (!field.type.is_ref())
          made.alignment = std::max(made.alignment, bytecode::size_of(field.type.kind));
      }
    } else {
      made.bytes = made.alignment = bytecode::size_of(element.kind);
    }
  }
}

std::set<codegen::CallPath> LaunchGuard::proven_paths() const {
  return paths_of(*module_, module_->kernels[kernel_], footprint_, proven_);
}

Status LaunchGuard::check(const Launch& launch) const {
  if (launch.arrays.size() != elements_.size() || launch.scalars.size() != footprint_.scalars ||
      launch.space.dimensions != footprint_.dimensions || launch.space.empty() || !launch.space.count()) {
    return error(ErrorCode::kInvalidArgument, "the launch does not fit its kernel");
  }
  std::vector<codegen::KernelArray> arrays(launch.arrays.size());
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    const ArrayArgument& argument = launch.arrays[n];
    DHPVM_TRY(check_shape(argument, n));
    arrays[n].shape = argument.shape;
  }
  const LoopChunk chunk{launch.space, launch.scalars, arrays};
  if (indices_ == Indices::kSmall && !has_small_indices(chunk)) {
    return error(
        ErrorCode::kInvalidArgument,
        "the launch has a bound or a size below 0 or from {} on, and its kernel was loaded for others",
        codegen::kSmallIndices);
  }
  const std::lock_guard lock(mutex_);
  const bool is_kept = arrays.size() <= kMostKeptArrays && launch.scalars.size() <= kMostKeptScalars;
  const std::vector<Extent>* extents = is_kept ? extents_.find(footprint_, chunk) : nullptr;
  std::vector<Extent> found;
  if (extents == nullptr) {
    DHPVM_ASSIGN(found, extents_of(chunk));
    extents = is_kept ? &extents_.keep(std::move(found)) : &found;
  }
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    const auto [begin, end] = (*extents)[n];
    if (begin != end) DHPVM_TRY(check_memory(launch.arrays[n], n, begin, end));
  }
  return {};
}

Result<std::vector<LaunchGuard::Extent>> LaunchGuard::extents_of(const LoopChunk& chunk) const {
  Ranges ranges(footprint_, chunk);
  for (const std::uint32_t access : proven_) {
    if (!ranges.cannot_fail(footprint_.accesses[access])) {
      return error(ErrorCode::kInvalidArgument,
                   "{} of the kernel may fail in this launch, and is not checked",
                   place(*module_, footprint_.accesses[access]));
    }
  }
  std::vector<Extent> extents(chunk.arrays.size());
  for (std::uint32_t n = 0; n < extents.size(); ++n) {
    auto& [begin, end] = extents[n];
    const codegen::ArrayShape& shape = chunk.arrays[n].shape;
    const Elements anything{.known = false, .begin = 0, .end = 0};
    include(footprint_.complete ? ranges.reads(n) : anything, shape.readable, begin, end);
    include(footprint_.complete ? ranges.writes(n) : anything, shape.writable, begin, end);
  }
  return extents;
}

// Checks the sizes of an array as kernels assume them.
Status LaunchGuard::check_shape(const ArrayArgument& array, std::size_t number) const {
  const auto refused = [&](const char* what) {
    return error(ErrorCode::kInvalidArgument, "array {} of a launch {}", number, what);
  };
  if (array.shape.length < 0) {
    // Checks of indices protect the elements; a missing array has no dimensions in which an index could lie.
    const bool nothing = array.shape == codegen::ArrayShape{.length = -1};
    return nothing ? Status() : refused("has a negative length");
  }
  if (array.shape.readable < 0 || array.shape.readable > array.shape.length || array.shape.writable < 0 ||
      array.shape.writable > array.shape.length) {
    return refused("can be accessed beyond its length");
  }
  // The bytes of an array fit into 63 bits, and so do all sums of addresses below.
  std::int64_t product = 1;
  std::int64_t bytes = 0;
  for (const std::int64_t dim : std::span(array.shape.dims).first(elements_[number].rank)) {
    if (dim < 0 || __builtin_mul_overflow(product, dim, &product))
      return refused("has impossible dimensions");
  }
  if (product != array.shape.length) return refused("has dimensions that are not its length");
  if (__builtin_mul_overflow(array.shape.length, static_cast<std::int64_t>(elements_[number].bytes),
                             &bytes)) {
    return refused("is too long");
  }
  return {};
}

Status LaunchGuard::check_memory(const ArrayArgument& array, std::size_t number, std::int64_t begin,
                                 std::int64_t end) const {
  const Element& element = elements_[number];
  const auto size = static_cast<std::int64_t>(element.bytes);
  std::int64_t first_byte = 0;
  std::int64_t last_byte = 0;
  if (__builtin_add_overflow(array.first, begin * size, &first_byte) ||
      __builtin_add_overflow(array.first, end * size, &last_byte) || first_byte < 0 ||
      static_cast<std::uint64_t>(last_byte) > array.memory.bytes) {
    return error(
        ErrorCode::kInvalidArgument,
        "the launch touches elements {} to {} of array {}, which are not in the memory that came with it",
        begin, end, number);
  }
  // Memory itself is aligned for everything. A device may stop working for all sessions after an unaligned access.
  const std::uint64_t start = array.memory.offset + static_cast<std::uint64_t>(array.first);
  if (element.alignment > 1 && start % element.alignment != 0) {
    return error(ErrorCode::kInvalidArgument,
                 "the elements of array {} of the launch are not aligned to {} bytes", number,
                 element.alignment);
  }
  return {};
}

}  // namespace dhpvm::offload
