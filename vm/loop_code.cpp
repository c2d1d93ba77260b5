// SPDX-License-Identifier: Apache-2.0
#include "vm/loop_code.h"

#include <algorithm>
#include <utility>

#include "bytecode/decode.h"
#include "offload/devices/kernel_compiler.h"

namespace dhpvm::vm {
namespace {

bool is_exact(const bytecode::Module& module, const bytecode::KernelRecord& kernel) {
  if (kernel.fast_math) return false;
  std::vector<std::uint32_t> functions = {kernel.function};
  for (std::size_t next = 0; next < functions.size(); ++next) {
    const bytecode::Function& function = module.functions[functions[next]];
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const bytecode::Word word = module.code[function.code_offset + pc];
      const auto op = static_cast<bytecode::Op>(bytecode::op_of(word));
      if (bytecode::info(op).has(bytecode::kApproximate)) return false;
      const std::uint32_t callee = bytecode::c_of(word);
      if (op == bytecode::Op::kCall && std::ranges::find(functions, callee) == functions.end()) {
        functions.push_back(callee);
      }
      pc += bytecode::kDecode[bytecode::op_of(word)].words;
    }
  }
  return true;
}

// Extents of inner loops that are small enough for unrolling: along any dimension except the first, which counts items.
std::vector<codegen::KnownDimension> small_dimensions(const bytecode::Module& module,
                                                      const bytecode::KernelRecord& kernel,
                                                      std::span<const codegen::KernelArray> arrays) {
  constexpr std::int64_t kSmall = 16;
  std::vector<codegen::KnownDimension> known;
  std::uint32_t array = 0;
  for (const bytecode::ValueType& parameter : module.functions[kernel.function].signature.parameters) {
    if (!parameter.is_ref()) continue;
    const std::uint32_t rank = module.types[parameter.type].rank;
    for (std::uint32_t d = 1; d < rank && arrays[array].shape.length >= 0; ++d) {
      const std::int64_t size = arrays[array].shape.dims[d];
      if (size >= 1 && size <= kSmall) known.push_back({array, d, size});
    }
    ++array;
  }
  return known;
}

}  // namespace

LoopCode::LoopCode(std::shared_ptr<const LinkedModule> linked, std::uint32_t kernel)
    : linked_(std::move(linked)), kernel_(kernel) {}

const offload::Footprint& LoopCode::footprint() {
  if (!footprint_) footprint_ = offload::analyse(linked_->module(), record());
  return *footprint_;
}

void LoopCode::specialise(const offload::LoopChunk& execution) {
  offload::Ranges ranges(*footprint_, execution);
  proven_.emplace();
  for (std::uint32_t index = 0; index < footprint_->accesses.size(); ++index) {
    const offload::Access& access = footprint_->accesses[index];
    if (access.may_be_proven() && ranges.cannot_fail(access)) proven_->push_back(index);
  }
  dimensions_ = small_dimensions(linked_->module(), record(), execution.arrays);
}

LoopVariant LoopCode::choose(const offload::LoopChunk& execution) {
  footprint();
  if (!proven_) specialise(execution);
  if (proven_->empty()) return LoopVariant::kChecked;
  unproven_ = find_unproven(execution);
  if (unproven_ != offload::kNothing) return LoopVariant::kChecked;
  const bool fits = std::ranges::all_of(dimensions_, [&](const codegen::KnownDimension& known) {
    return execution.arrays[known.array].shape.dims[known.dimension] == known.value;
  });
  return fits && !dimensions_.empty() ? LoopVariant::kSized : LoopVariant::kProven;
}

std::uint32_t LoopCode::find_unproven(const offload::LoopChunk& execution) {
  numbers_of(*footprint_, execution, numbers_);
  if (families_.contain(numbers_)) return offload::kNothing;
  if (const std::uint32_t* const known = unproven_accesses_.find(numbers_)) return *known;
  offload::Ranges ranges(*footprint_, execution);
  const std::uint32_t unproven = first_failing(ranges);
  if (unproven == offload::kNothing) {
    families_.add(numbers_, [&](const offload::ExecutionFamily& family) {
      offload::Ranges of_all(*footprint_, family);
      return first_failing(of_all) == offload::kNothing;
    });
  }
  return unproven_accesses_.keep(numbers_, unproven);
}

std::uint32_t LoopCode::first_failing(offload::Ranges& ranges) const {
  const auto fails = std::ranges::find_if(
      *proven_, [&](std::uint32_t index) { return !ranges.cannot_fail(footprint_->accesses[index]); });
  return fails == proven_->end() ? offload::kNothing : *fails;
}

std::span<const std::uint32_t> LoopCode::proven_accesses(LoopVariant variant) const {
  return variant == LoopVariant::kChecked ? std::span<const std::uint32_t>() : *proven_;
}

std::set<codegen::CallPath> LoopCode::proven_paths(LoopVariant variant) const {
  if (variant == LoopVariant::kChecked) return {};
  return offload::paths_of(linked_->module(), record(), *footprint_, *proven_);
}

std::span<const codegen::KnownDimension> LoopCode::dimensions(LoopVariant variant) const {
  return variant == LoopVariant::kSized ? dimensions_ : std::span<const codegen::KnownDimension>();
}

bool LoopCode::has_exact_bits() {
  if (!has_exact_bits_) has_exact_bits_ = is_exact(linked_->module(), record());
  return *has_exact_bits_;
}

const codegen::CompiledKernel* LoopCode::find(LoopVariant variant, unsigned most_lanes) const {
  for (const unsigned lanes : {most_lanes, kAnyLanes}) {
    const auto slot = slots(variant).find(lanes);
    if (slot == slots(variant).end()) continue;
    if (slot->second->done.load(std::memory_order_acquire) && slot->second->kernel != nullptr) {
      return slot->second->kernel.get();
    }
  }
  return nullptr;
}

const LoopCode::BaselineSlot* LoopCode::finished_baseline(LoopVariant variant) const {
  const BaselineSlot* const slot = baselines_[static_cast<std::size_t>(variant)].get();
  return slot != nullptr && slot->done.load(std::memory_order_acquire) ? slot : nullptr;
}

const codegen::CompiledKernel* LoopCode::find_baseline(LoopVariant variant) const {
  const BaselineSlot* const slot = finished_baseline(variant);
  return slot == nullptr ? nullptr : slot->kernel.get();
}

void LoopCode::adopt_kept(LoopVariant variant) {
  const BaselineSlot* const found = finished_baseline(variant);
  if (found == nullptr || found->optimised == nullptr) return;
  slots_[static_cast<std::size_t>(variant)].emplace(found->most_lanes, found->optimised);
}

codegen::KernelRequest LoopCode::new_request(LoopVariant variant, unsigned most_lanes) const {
  const std::span<const codegen::KnownDimension> known = dimensions(variant);
  codegen::KernelRequest request;
  request.module = &linked_->module();
  request.kernel = kernel_;
  request.proven = proven_paths(variant);
  request.dimensions.assign(known.begin(), known.end());
  request.most_lanes = most_lanes;
  return request;
}

void LoopCode::request(LoopVariant variant, unsigned most_lanes, CompileService& service, When when) {
  adopt_kept(variant);
  if (slots(variant).contains(most_lanes)) return;
  const codegen::CompiledKernel* const any = find(variant, kAnyLanes);
  if (any != nullptr && any->width() <= most_lanes) return;
  const auto slot = std::make_shared<Slot>();
  slots_[static_cast<std::size_t>(variant)].emplace(most_lanes, slot);
  // The job owns `linked`, to which the request points.
  auto job = [slot, linked = linked_,
              request = new_request(variant, most_lanes)](codegen::CodeGenerator& generator) {
    auto compiled = generator.compile(request);
    if (compiled.ok()) {
      slot->kernel = std::move(compiled).value();
    } else {
      slot->failure = compiled.error().message();
    }
    slot->done.store(true, std::memory_order_release);
  };
  if (when == When::kInBackground) {
    service.add(std::move(job));
  } else {
    service.run(job);
  }
}

void LoopCode::request_baseline(LoopVariant variant, unsigned most_lanes, CompileService& service, When when,
                                Kept kept) {
  std::shared_ptr<BaselineSlot>& slot = baselines_[static_cast<std::size_t>(variant)];
  if (slot != nullptr || slots(variant).contains(most_lanes)) return;
  slot = std::make_shared<BaselineSlot>();
  slot->most_lanes = most_lanes;
  auto job = [slot, kept, linked = linked_,
              request = new_request(variant, most_lanes)](codegen::CodeGenerator& generator) mutable {
    auto optimised = kept == Kept::kAny ? generator.find(request) : nullptr;
    if (optimised != nullptr) {
      slot->optimised = std::make_shared<Slot>();
      slot->optimised->kernel = std::move(optimised);
      slot->optimised->done.store(true, std::memory_order_relaxed);
    } else {
      request.tier = codegen::KernelTier::kBaseline;
      slot->kernel = generator.find(request);
      slot->was_kept = slot->kernel != nullptr;
    }
    if (slot->optimised == nullptr && slot->kernel == nullptr) {
      auto compiled = generator.compile(request);
      if (compiled.ok()) slot->kernel = std::move(compiled).value();
      if (!compiled.ok()) slot->failure = compiled.error().message();
    }
    slot->done.store(true, std::memory_order_release);
  };
  if (when == When::kInBackground) {
    service.add(std::move(job), CompileService::Turn::kFirst);
  } else {
    service.run(job);
  }
}

bool LoopCode::is_baseline_enough(LoopVariant variant, const LoopTiming& timing) const {
  if (baselines_[static_cast<std::size_t>(variant)] == nullptr) return false;
  const BaselineSlot* const slot = finished_baseline(variant);
  if (slot == nullptr) return true;
  return slot->kernel != nullptr && !slot->was_kept && !timing.is_worth_optimising();
}

bool LoopCode::is_being_compiled(LoopVariant variant, unsigned most_lanes) const {
  const auto slot = slots(variant).find(most_lanes);
  if (slot != slots(variant).end()) return !slot->second->done.load(std::memory_order_acquire);
  return baselines_[static_cast<std::size_t>(variant)] != nullptr && finished_baseline(variant) == nullptr;
}

bool LoopCode::is_sized(const codegen::CompiledKernel& kernel) const {
  if (find_baseline(LoopVariant::kSized) == &kernel) return true;
  return std::ranges::any_of(slots(LoopVariant::kSized),
                             [&](const auto& slot) { return slot.second->kernel.get() == &kernel; });
}

bool LoopCode::is_requested() const {
  if (std::ranges::any_of(baselines_, [](const auto& slot) { return slot != nullptr; })) return true;
  return std::ranges::any_of(slots_, [](const Slots& of_variant) { return !of_variant.empty(); });
}

std::string LoopCode::failure() const {
  for (const auto& slot : baselines_) {
    if (slot != nullptr && slot->done.load(std::memory_order_acquire) && !slot->failure.empty())
      return slot->failure;
  }
  for (const Slots& of_variant : slots_) {
    for (const auto& [lanes, slot] : of_variant) {
      if (slot->done.load(std::memory_order_acquire) && slot->kernel == nullptr) return slot->failure;
    }
  }
  return {};
}

}  // namespace dhpvm::vm
