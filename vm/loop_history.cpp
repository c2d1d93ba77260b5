// SPDX-License-Identifier: Apache-2.0
#include "vm/loop_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "vm/loop_strides.h"

namespace dhpvm::vm {
namespace {

// "array 'x'", by its name in the source; numbered from 1 where the module has none.
std::string array_text(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                       std::size_t array) {
  const std::vector<bytecode::KernelSource::Array>& named = kernel.source.arrays;
  if (array >= named.size()) return fmt::format("array {}", array + 1);
  const std::string& name = module.strings[named[array].name];
  if (named[array].is_parts) return fmt::format("the blocks' parts of array '{}'", name);
  return name.empty() ? std::string("what the blocks found") : fmt::format("array '{}'", name);
}

// "8 along dimension 2 of array 'x', ...": dimensions are numbered from 1.
std::string sizes_text(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                       std::span<const codegen::KnownDimension> dimensions) {
  std::string text;
  for (const codegen::KnownDimension& known : dimensions) {
    text += fmt::format("{}{} along dimension {} of {}", text.empty() ? "" : ", ", known.value,
                        known.dimension + 1, array_text(module, kernel, known.array));
  }
  return text;
}

std::string checks_text(const bytecode::Module& module, LoopCode& code) {
  const offload::Footprint& footprint = code.footprint();
  if (!footprint.complete) {
    return fmt::format("  every access is checked, because {}\n", footprint.incomplete_reason);
  }
  if (code.unproven() != offload::kNothing) {
    return fmt::format("  every access is checked, because one may fail with these bounds: {}\n",
                       offload::place(module, footprint.accesses[code.unproven()]));
  }
  const std::span<const std::uint32_t> proven = code.proven_accesses(LoopVariant::kProven);
  std::uint32_t checked = 0;
  std::string where;
  for (std::uint32_t index = 0; index < footprint.accesses.size(); ++index) {
    const offload::Access& access = footprint.accesses[index];
    if (access.kind >= offload::AccessKind::kIndex || std::ranges::binary_search(proven, index)) continue;
    ++checked;
    if (where.empty()) where = offload::place(module, access);
  }
  if (checked == 0) return "  no access is checked: all are known to stay inside their arrays\n";
  return fmt::format(
      "  {} accesses are checked, because their positions depend on data or could not be followed; the "
      "first: "
      "{}\n",
      checked, where);
}

}  // namespace

std::string LoopHistory::why_interpreted(const LoopCode& code) const {
  if (const std::string failure = code.failure(); !failure.empty()) {
    return "because it could not be compiled: " + failure;
  }
  if (is_fuel_limited()) return "because fuel is limited, which is counted exactly only there";
  if (!has_generator_) return "because there is no code generator; the first line says why";
  return code.is_requested() ? "because it was over before it had been compiled"
                             : "because it has too few iterations to be worth compiling";
}

std::string LoopHistory::explain(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                                 LoopCode& code, std::uint64_t iterations) const {
  if (last_ == nullptr) return fmt::format("  interpreted, {}\n", why_interpreted(code));
  std::string text =
      fmt::format("  ran on the host: {} of {} iterations compiled{}\n", compiled_iterations_, iterations,
                  compiled_iterations_ < iterations ? ", the rest interpreted meanwhile" : "");
  text += last_->width() == 1 ? fmt::format("  one iteration at a time, because {}\n", last_->scalar_reason())
                              : fmt::format("  {} iterations at a time\n", last_->width());
  if (last_->rows() > 1) {
    text += fmt::format(
        "  {} rows together, because they read the same elements in an inner loop or lie in rows of an "
        "operand\n",
        last_->rows());
  }
  if (last_->staged_operands() > 0) {
    text += fmt::format(
        "  rows of {} in inner loops are transposed for the lanes, block by block\n",
        last_->staged_operands() == 1 ? "one operand" : fmt::format("{} operands", last_->staged_operands()));
  }
  if (last_->packed_operands() > 0) {
    text +=
        last_->packed_operands() == 1
            ? "  one operand of inner loops is packed for all rows\n"
            : fmt::format("  {} operands of inner loops are packed for all rows\n", last_->packed_operands());
  }
  if (code.is_sized(*last_)) {
    text += fmt::format("  compiled for the small sizes of its arrays: {}\n",
                        sizes_text(module, kernel, code.dimensions(LoopVariant::kSized)));
  }
  text += checks_text(module, code);
  const offload::Footprint& footprint = code.footprint();
  for (std::size_t array = 0; array < footprint.arrays.size(); ++array) {
    if (footprint.arrays[array].reason.empty()) continue;
    const std::string name = array_text(module, kernel, array);
    text += fmt::format("  {}: {}\n", name, footprint.arrays[array].reason);
    const std::string apart = stride_text(module, kernel, footprint, array);
    if (!apart.empty()) text += fmt::format("  {}: {}\n", name, apart);
  }
  return text;
}

}  // namespace dhpvm::vm
