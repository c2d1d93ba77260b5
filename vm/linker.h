// SPDX-License-Identifier: Apache-2.0
// A verified module made ready to run: natives resolved, types described to the collector,
// dispatch tables built.
//
// Linking is done once; any number of isolates on any threads then share the result. Everything here is
// immutable after link().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bytecode/module.h"
#include "dhpvm/result.h"
#include "gc/object.h"
#include "vm/native.h"

namespace dhpvm::vm {

// A local array: `offset` bytes behind the start of the frame's local memory.
struct LinkedLocal {
  std::uint32_t offset;
  std::uint32_t bytes;
  std::uint64_t count;
};

// Everything that a call needs of a function, in one cache line.
struct alignas(64) LinkedFunction {
  const bytecode::Word* code;
  std::uint32_t stack_cost;  // bytes that a call takes from Limits::stack_bytes
  std::uint32_t local_bytes;
  bool needs_setup;  // there are local arrays, or references beyond the parameters
  const LinkedLocal* locals;
  const bytecode::Function* source;
  std::uint32_t index;  // in Module::functions
  std::uint16_t primitive_registers;
  std::uint16_t reference_registers;
  std::uint16_t primitive_parameters;
  std::uint16_t reference_parameters;
};
static_assert(sizeof(LinkedFunction) == 64);

// A native function bound to an import.
struct LinkedImport {
  const NativeFunction* function;  // owned by the LinkedModule
  NativeFastPath fast_path;        // may be null
  const bytecode::Import* source;
  std::vector<std::uint16_t> not_null;  // indices of the reference arguments that must not be null
  std::uint16_t primitives;             // the sizes of the argument windows, results included
  std::uint16_t references;
  // The results whose types the definition leaves open: their positions, and the types that they must have.
  std::vector<std::pair<std::uint16_t, gc::TypeId>> checked_results;
  // For an import whose failures are values: the position of message and code, behind the other results.
  bool fallible = false;
  std::uint16_t failure_message = 0;
  std::uint16_t failure_code = 0;
};

// A `parallel for`, with what its execution derives from the kernel function.
struct LinkedKernel {
  const bytecode::KernelRecord* record;
  const LinkedFunction* function;
  std::uint16_t dimensions;
  std::uint16_t scalars;       // captured, behind the indices in P
  std::uint16_t accumulators;  // behind the scalars
  std::uint16_t arrays;        // captured, in R
  bool overwrites_scalars;     // its results reach into the registers of the scalars
};

class LinkedModule {
 public:
  // Binds `module`, which must have passed the verifier, to the natives of `natives`; the functions used
  // are copied. kLink for an import that is not there or has another type: the message names it and
  // shows both signatures.
  static Result<std::shared_ptr<const LinkedModule>> link(std::shared_ptr<const bytecode::Module> module,
                                                          const NativeRegistry& natives);
  LinkedModule(const LinkedModule&) = delete;
  LinkedModule& operator=(const LinkedModule&) = delete;

  const bytecode::Module& module() const { return *module_; }

  // All indexed like the module's own tables.
  std::span<const LinkedFunction> functions() const { return functions_; }
  std::span<const LinkedImport> imports() const { return imports_; }
  std::span<const LinkedKernel> kernels() const { return kernels_; }
  std::span<const gc::TypeInfo> types() const { return types_; }

  // The index of the exported function of this name.
  std::optional<std::uint32_t> find_export(std::string_view name) const;

  // The type id of arrays of `element` and `rank` in this module; nothing if the module has no such type
  // (then none of its functions can take or return one).
  std::optional<gc::TypeId> find_array_type(bytecode::ValueType element, unsigned rank = 1) const;

  // The functions of class `type` for the methods of `interface`; find_methods: null if it does not implement it.
  struct MethodSlot {
    gc::TypeId type = bytecode::kNoIndex;  // kNoIndex: an empty slot of the table
    gc::TypeId interface = bytecode::kNoIndex;
    const std::uint32_t* functions = nullptr;  // by method; indices in Module::functions
  };
  const MethodSlot* find_methods(gc::TypeId type, gc::TypeId interface) const {
    std::size_t slot = method_hash(type, interface) & method_mask_;
    for (;; slot = (slot + 1) & method_mask_) {
      const MethodSlot& entry = method_slots_[slot];
      if (entry.type == type && entry.interface == interface) return &entry;
      if (entry.type == bytecode::kNoIndex) return nullptr;
    }
  }

  // Whether an object of the concrete type `type` is an instance of `wanted`, a class, interface or
  // any other type.
  bool is_instance(gc::TypeId type, gc::TypeId wanted) const {
    return type == wanted || (is_interface_[wanted] != 0 && find_methods(type, wanted) != nullptr);
  }

  // The function whose code contains the word at `pc`; null for none.
  const LinkedFunction* function_at(const bytecode::Word* pc) const;
  // The line table's entry for `pc`, an instruction of `function`; null without line table.
  const bytecode::Line* line_at(const LinkedFunction& function, const bytecode::Word* pc) const;

  // The bytecode of `function`, which may be an isolate's copy.
  const bytecode::Word* code_of(const LinkedFunction& function) const {
    return module_->code.data() + function.source->code_offset;
  }

 private:
  LinkedModule() = default;
  static std::size_t method_hash(gc::TypeId type, gc::TypeId interface) {
    return static_cast<std::size_t>(((std::uint64_t{type} << 32 | interface) * 0x9E3779B97F4A7C15u) >> 32);
  }
  void describe_types();
  void describe_array(const bytecode::Type& type, gc::TypeId id);
  Status bind_imports(const NativeRegistry& natives);
  static Status take_failure(const bytecode::Import& import, bytecode::Signature& signature);
  void link_functions();
  void link_kernels();
  void build_method_table();

  std::shared_ptr<const bytecode::Module> module_;
  std::vector<LinkedFunction> functions_;
  std::vector<LinkedLocal> locals_;
  std::vector<NativeFunction> natives_;
  std::vector<LinkedImport> imports_;
  std::vector<LinkedKernel> kernels_;
  std::vector<gc::TypeInfo> types_;
  std::vector<std::uint8_t> is_interface_;
  std::vector<std::uint16_t> reference_offsets_;  // 0, 8, 16, ..: references come first in every layout
  gc::TypeId primitive_arrays_[11][3];            // by kind and rank - 1; kNoIndex where the module has none
  std::vector<MethodSlot> method_slots_;
  std::size_t method_mask_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> exports_;
  std::vector<std::uint32_t> functions_by_code_;  // indices, ordered by code offset
};

}  // namespace dhpvm::vm
