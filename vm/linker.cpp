// SPDX-License-Identifier: Apache-2.0
#include "vm/linker.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "vm/frame.h"

namespace dhpvm::vm {
namespace {

using bytecode::kNoIndex;
using bytecode::TypeKind;
using bytecode::Word;

std::uint16_t count_primitives(std::span<const bytecode::ValueType> types) {
  return static_cast<std::uint16_t>(
      std::ranges::count_if(types, [](const auto& type) { return !type.is_ref(); }));
}

std::uint32_t count_references(const bytecode::Type& type) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(type.fields, [](const bytecode::Field& field) { return field.type.is_ref(); }));
}

// Whether a native is defined with the types that the module has. Types are compared one by one, because the module
// chooses the names of its classes, and a name could imitate the text of several types.
bool agree(const bytecode::Module& module, const std::vector<std::string>& defined,
           const std::vector<bytecode::ValueType>& wanted) {
  return std::ranges::equal(defined, wanted, [&](const std::string& text, const bytecode::ValueType& type) {
    if (text == kAnyReference) return type.is_ref();
    return text == type_text(module, type) || (!text.empty() && text == number_array_text(module, type));
  });
}

}  // namespace

Result<std::shared_ptr<const LinkedModule>> LinkedModule::link(std::shared_ptr<const bytecode::Module> module,
                                                               const NativeRegistry& natives) {
  std::shared_ptr<LinkedModule> linked(new LinkedModule());
  linked->module_ = std::move(module);
  linked->describe_types();
  DHPVM_TRY(linked->bind_imports(natives));
  linked->link_functions();
  linked->link_kernels();
  linked->build_method_table();
  return std::shared_ptr<const LinkedModule>(std::move(linked));
}

void LinkedModule::describe_types() {
  const std::vector<bytecode::Type>& types = module_->types;
  for (auto& ranks : primitive_arrays_) std::ranges::fill(ranks, kNoIndex);
  types_.resize(types.size());
  is_interface_.resize(types.size());
  // First pass, because an array may come before the struct of its elements.
  std::uint32_t most_references = 1;
  for (std::size_t id = 0; id < types.size(); ++id) {
    types_[id].references = count_references(types[id]);
    most_references = std::max(most_references, types_[id].references);
  }
  // The verifier keeps structs below 64 KiB: the offsets fit.
  for (std::uint32_t i = 0; i < most_references; ++i) {
    reference_offsets_.push_back(static_cast<std::uint16_t>(i * sizeof(gc::Ref)));
  }
  for (std::size_t id = 0; id < types.size(); ++id) {
    const bytecode::Type& type = types[id];
    gc::TypeInfo& info = types_[id];
    info.name = type.name.c_str();
    is_interface_[id] = type.kind == TypeKind::kInterface;
    switch (type.kind) {
      case TypeKind::kString:
        info.shape = gc::Shape::kString;
        info.size = sizeof(gc::String);
        break;
      case TypeKind::kResource:
        info.shape = gc::Shape::kResource;
        info.size = sizeof(gc::Resource);
        break;
      case TypeKind::kWeak:
        info.shape = gc::Shape::kWeak;
        info.size = sizeof(gc::Weak);
        break;
      case TypeKind::kClass: info.size = type.size; break;
      case TypeKind::kArray: describe_array(type, static_cast<gc::TypeId>(id)); break;
      case TypeKind::kInterface:
      case TypeKind::kStruct: break;  // no objects of their own
    }
  }
}

void LinkedModule::describe_array(const bytecode::Type& type, gc::TypeId id) {
  gc::TypeInfo& info = types_[id];
  info.shape = gc::Shape::kArray;
  info.size = type.rank == 1 ? sizeof(gc::Array) : sizeof(gc::MultiArray);
  info.element_size = size_of(type.element.kind);
  if (!type.element.is_ref()) {
    gc::TypeId& known = primitive_arrays_[static_cast<unsigned>(type.element.kind)][type.rank - 1];
    if (known == kNoIndex) known = id;
    return;
  }
  const bytecode::Type& element = module_->types[type.element.type];
  const bool is_struct = element.kind == TypeKind::kStruct;
  if (is_struct) info.element_size = element.size;
  info.element_reference_count = is_struct ? types_[type.element.type].references : 1;
  if (info.element_reference_count == 0) return;
  info.shape = gc::Shape::kRefArray;
  info.element_references = reference_offsets_.data();
}

// The signature that the native function itself has: without the two results that report a failure.
Status LinkedModule::take_failure(const bytecode::Import& import, bytecode::Signature& signature) {
  auto& results = signature.results;
  const std::size_t count = results.size();
  const bool fits = count >= 2 && results[count - 1].kind == bytecode::Kind::kI64 &&
                    results[count - 2].is_ref() && results[count - 2].type == bytecode::kStringType;
  if (!fits) {
    return error(
        ErrorCode::kLink,
        "the module imports '{}' with failures as values, but its results do not end in a str and an i64",
        import.name);
  }
  results.resize(count - 2);
  return {};
}

Status LinkedModule::bind_imports(const NativeRegistry& natives) {
  natives_.reserve(module_->imports.size());
  imports_.reserve(module_->imports.size());
  for (const bytecode::Import& import : module_->imports) {
    const bool fallible = import.name.ends_with(bytecode::kFallibleImport);
    std::string_view name = import.name;
    bytecode::Signature signature = import.signature;
    if (fallible) {
      DHPVM_TRY(take_failure(import, signature));
      name.remove_suffix(1);
    }
    const std::string wanted = signature_text(*module_, signature);
    const NativeRegistry::Entry* entry = natives.find(name);
    if (entry == nullptr) {
      return error(
          ErrorCode::kLink,
          "the module imports '{}' with the type {}, which is not defined; define it before loading the "
          "module, or check its spelling",
          import.name, wanted);
    }
    if (!agree(*module_, entry->parameters, signature.parameters) ||
        !agree(*module_, entry->results, signature.results)) {
      return error(ErrorCode::kLink,
                   "the module imports '{}' with the type {}, but it is defined with the type {}",
                   import.name, wanted, entry->signature);
    }
    natives_.push_back(entry->function);
    LinkedImport& linked = imports_.emplace_back();
    linked.function = &natives_.back();  // reserved above: never moves
    linked.fast_path = fallible ? nullptr : entry->fast_path;
    linked.fallible = fallible;
    linked.source = &import;
    const auto& parameters = import.signature.parameters;
    const auto& results = import.signature.results;
    linked.primitives = std::max(count_primitives(parameters), count_primitives(results));
    const std::size_t primitive_results = count_primitives(results);
    const std::size_t reference_results = results.size() - primitive_results;
    linked.references = static_cast<std::uint16_t>(
        std::max(parameters.size() - count_primitives(parameters), reference_results));
    if (fallible) {
      linked.failure_message = static_cast<std::uint16_t>(reference_results - 1);
      linked.failure_code = static_cast<std::uint16_t>(primitive_results - 1);
    }
    std::uint16_t slot = 0;
    for (std::size_t i = 0; i < signature.results.size(); ++i) {
      if (entry->results[i] == kAnyReference) linked.checked_results.emplace_back(slot, results[i].type);
      if (results[i].is_ref()) ++slot;
    }
    for (std::size_t i = 0; i < entry->nullable.size(); ++i) {
      if (!entry->nullable[i]) linked.not_null.push_back(static_cast<std::uint16_t>(i));
    }
  }
  return {};
}

void LinkedModule::link_functions() {
  const std::vector<bytecode::Function>& sources = module_->functions;
  std::size_t local_count = 0;
  for (const bytecode::Function& source : sources) local_count += source.locals.size();
  locals_.reserve(local_count);
  functions_.reserve(sources.size());
  for (std::size_t index = 0; index < sources.size(); ++index) {
    const bytecode::Function& source = sources[index];
    LinkedFunction& function = functions_.emplace_back();
    function.code = module_->code.data() + source.code_offset;
    function.source = &source;
    function.index = static_cast<std::uint32_t>(index);
    function.primitive_registers = source.primitive_registers;
    function.reference_registers = source.reference_registers;
    function.primitive_parameters = count_primitives(source.signature.parameters);
    function.reference_parameters =
        static_cast<std::uint16_t>(source.signature.parameters.size() - function.primitive_parameters);
    function.locals = locals_.data() + locals_.size();
    function.local_bytes = 0;
    for (const bytecode::LocalArray& local : source.locals) {
      // The verifier limits all local arrays of a function to some kilobytes.
      const std::uint32_t bytes = local.count * size_of(local.kind);
      locals_.push_back({function.local_bytes, bytes, local.count});
      function.local_bytes += (bytes + 7) / 8 * 8;
    }
    function.stack_cost = std::uint32_t{sizeof(Frame)} + function.local_bytes +
                          8u * (std::uint32_t{source.primitive_registers} + source.reference_registers);
    function.needs_setup =
        function.local_bytes != 0 || function.reference_registers > function.reference_parameters;
    if (source.exported && source.name != kNoIndex) {
      exports_.emplace(module_->strings[source.name], static_cast<std::uint32_t>(index));
    }
  }
  functions_by_code_.resize(sources.size());
  std::iota(functions_by_code_.begin(), functions_by_code_.end(), 0u);
  std::ranges::sort(functions_by_code_, {}, [&](std::uint32_t index) { return sources[index].code_offset; });
}

void LinkedModule::link_kernels() {
  for (const bytecode::KernelRecord& record : module_->kernels) {
    LinkedKernel& kernel = kernels_.emplace_back();
    const LinkedFunction& function = functions_[record.function];
    kernel.record = &record;
    kernel.function = &function;
    kernel.dimensions = record.dimensions;
    kernel.accumulators = static_cast<std::uint16_t>(record.reductions.size());
    kernel.scalars =
        static_cast<std::uint16_t>(function.primitive_parameters - kernel.dimensions - kernel.accumulators);
    kernel.arrays = function.reference_parameters;
    // The verifier lets no kernel overwrite what it captured, but results stand in the first registers.
    kernel.overwrites_scalars = kernel.scalars != 0 && kernel.accumulators > kernel.dimensions;
  }
}

void LinkedModule::build_method_table() {
  std::size_t count = 0;
  for (const bytecode::Type& type : module_->types) count += type.implementations.size();
  method_slots_.resize(std::bit_ceil(count * 2 + 1));
  method_mask_ = method_slots_.size() - 1;
  for (std::size_t id = 0; id < module_->types.size(); ++id) {
    const auto type = static_cast<gc::TypeId>(id);
    for (const bytecode::Implementation& implementation : module_->types[id].implementations) {
      std::size_t slot = method_hash(type, implementation.interface) & method_mask_;
      while (method_slots_[slot].type != kNoIndex) slot = (slot + 1) & method_mask_;
      method_slots_[slot] = {type, implementation.interface, implementation.functions.data()};
    }
  }
}

std::optional<std::uint32_t> LinkedModule::find_export(std::string_view name) const {
  const auto found = exports_.find(name);
  if (found == exports_.end()) return std::nullopt;
  return found->second;
}

std::optional<gc::TypeId> LinkedModule::find_array_type(bytecode::ValueType element, unsigned rank) const {
  if (rank < 1 || rank > 3) return std::nullopt;
  if (!element.is_ref()) {
    const gc::TypeId id = primitive_arrays_[static_cast<unsigned>(element.kind)][rank - 1];
    if (id == kNoIndex) return std::nullopt;
    return id;
  }
  for (std::size_t id = 0; id < module_->types.size(); ++id) {
    const bytecode::Type& type = module_->types[id];
    if (type.kind == TypeKind::kArray && type.element == element && type.rank == rank) {
      return static_cast<gc::TypeId>(id);
    }
  }
  return std::nullopt;
}

const LinkedFunction* LinkedModule::function_at(const Word* pc) const {
  if (pc < module_->code.data() || pc >= module_->code.data() + module_->code.size()) return nullptr;
  const auto offset = static_cast<std::uint32_t>(pc - module_->code.data());
  const auto next = std::ranges::upper_bound(functions_by_code_, offset, {}, [&](std::uint32_t index) {
    return module_->functions[index].code_offset;
  });
  return next == functions_by_code_.begin() ? nullptr : &functions_[*(next - 1)];
}

const bytecode::Line* LinkedModule::line_at(const LinkedFunction& function, const Word* pc) const {
  const std::vector<bytecode::Line>& lines = function.source->lines;
  // Computed from the bytecode: function.code leads elsewhere when the function is compiled.
  const auto offset = static_cast<std::uint32_t>(pc - code_of(function));
  const auto next = std::ranges::upper_bound(lines, offset, {}, &bytecode::Line::pc);
  return next == lines.begin() ? nullptr : &*(next - 1);
}

}  // namespace dhpvm::vm
