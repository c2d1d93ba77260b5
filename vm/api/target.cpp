// SPDX-License-Identifier: Apache-2.0
#include "vm/api/target.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/spelling.h"
#include "vm/api/signature.h"
#include "vm/native.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

std::vector<gc::TypeId> reference_types(const IsolateState& isolate, std::uint32_t function) {
  std::vector<gc::TypeId> types;
  for (const bytecode::ValueType& parameter :
       isolate.machine->module().functions[function].signature.parameters) {
    if (parameter.is_ref()) types.push_back(parameter.type);
  }
  return types;
}

}  // namespace

Result<std::uint32_t> find_export(const IsolateState& isolate, std::string_view name) {
  if (const auto index = isolate.machine->find_export(name)) return *index;
  const bytecode::Module& module = isolate.machine->module();
  std::vector<std::string_view> exports;
  for (const bytecode::Function& function : module.functions) {
    if (function.exported) exports.push_back(module.name_of(function));
  }
  const std::string_view near = nearest_name(name, exports);
  if (near.empty()) return error(ErrorCode::kNotFound, "the module exports no function '{}'", name);
  return error(ErrorCode::kNotFound, "the module exports no function '{}'; did you mean '{}'?", name, near);
}

Result<std::uint32_t> find_constructor(const IsolateState& isolate, std::string_view type) {
  Result<std::uint32_t> found = find_export(isolate, fmt::format("new {}", type));
  if (found.ok()) return found;
  return std::move(found).error().with_context(fmt::format(
      "no '{}' can be made: a module that is compiled with host_objects has constructors of the classes "
      "that its source declares, and of those that its functions name",
      type));
}

std::shared_ptr<const Target> make_target(std::shared_ptr<IsolateState> isolate, std::uint32_t function,
                                          const Object& receiver) {
  auto target = std::make_shared<Target>(Target{std::move(isolate), function, {}, receiver});
  target->reference_types = reference_types(*target->isolate, function);
  if (receiver) target->reference_types.erase(target->reference_types.begin());
  return target;
}

std::shared_ptr<const Target> make_kept_target(std::shared_ptr<IsolateState> isolate,
                                               std::uint32_t function) {
  std::vector<std::weak_ptr<Target>>& kept = isolate->targets;
  // Remove the targets that the host has dropped before the vector grows.
  if (kept.size() == kept.capacity()) std::erase_if(kept, [](const auto& each) { return each.expired(); });
  auto target = std::make_shared<Target>(Target{isolate, function, reference_types(*isolate, function), {}});
  kept.push_back(target);
  return target;
}

Status turn_targets(IsolateState& from, const std::shared_ptr<IsolateState>& to) {
  const bytecode::Module& before = from.machine->module();
  const bytecode::Module& after = to->machine->module();
  std::vector<std::pair<std::shared_ptr<Target>, std::uint32_t>> turned;
  for (const std::weak_ptr<Target>& each : from.targets) {
    std::shared_ptr<Target> target = each.lock();
    if (target == nullptr) continue;
    const bytecode::Function& function = before.functions[target->function];
    DHPVM_ASSIGN(const std::uint32_t index, find_export(*to, before.name_of(function)));
    const std::string old_text = vm::signature_text(before, function.signature);
    const std::string new_text = vm::signature_text(after, after.functions[index].signature);
    if (old_text != new_text) {
      return error(ErrorCode::kInvalidArgument, "function '{}' is {} in the new module, and was {}",
                   before.name_of(function), new_text, old_text);
    }
    turned.emplace_back(std::move(target), index);
  }
  for (auto& [target, index] : turned) {
    target->reference_types = reference_types(*to, index);
    target->function = index;
    target->isolate = to;
    to->targets.push_back(target);
  }
  from.targets.clear();
  return {};
}

Result<Object> new_array(const std::shared_ptr<IsolateState>& isolate, Kind kind,
                         std::span<const std::int64_t> sizes) {
  constexpr std::size_t kMostDimensions = 3;
  if (sizes.empty() || sizes.size() > kMostDimensions)
    return error(ErrorCode::kInvalidArgument, "an array has 1 to 3 dimensions, and not {}", sizes.size());
  const HostType wanted{HostType::Shape::kArray, kind, static_cast<std::uint8_t>(sizes.size())};
  DHPVM_ASSIGN(const gc::TypeId type, array_type(isolate->machine->linked(), wanted));
  DHPVM_ASSIGN(gc::Array* const array, isolate->machine->new_array(type, sizes));
  return ObjectState::wrap(isolate, reinterpret_cast<gc::Ref>(array));
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
