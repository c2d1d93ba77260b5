// SPDX-License-Identifier: Apache-2.0
#include "bytecode/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "bytecode/generator_internal.h"

namespace dhpvm::bytecode::testing {
namespace {

constexpr ValueType kI64Value{Kind::kI64, kNoIndex};
constexpr ValueType kF64Value{Kind::kF64, kNoIndex};

ValueType primitive(Kind kind) { return {kind, kNoIndex}; }
ValueType reference(std::uint32_t type) { return {Kind::kRef, type}; }

class ModuleGenerator {
 public:
  ModuleGenerator(Decisions choices, const GeneratorOptions& options)
      : choices_(choices),
        world_{module_,
               choices_,
               options,
               computations(options.approximate_math),
               conditions(),
               0,
               {},
               0,
               {},
               0,
               0,
               0,
               {},
               {},
               {},
               {},
               {}} {}

  Module run() {
    declare_types();
    for (const Import& import : world_.options.imports)
      world_.natives.push_back(module_.import_function(import.name, import.signature));
    // A body may call only what was generated before it: no recursion.
    methods();
    pure_helpers();
    kernels();
    functions();
    main();
    return std::move(module_).finish();
  }

 private:
  ValueType random_field() {
    if (choices_.one_in(3)) return reference(choices_.pick(world_.types));
    return primitive(static_cast<Kind>(choices_.below(11)));
  }
  std::vector<Field> random_fields(bool references) {
    std::vector<Field> fields;
    for (std::uint32_t n = 1 + choices_.below(6); n > 0; --n) {
      ValueType type = random_field();
      if (!references && type.is_ref()) type = primitive(Kind::kF32);
      fields.push_back({fmt::format("f{}", fields.size()), type, 0});
    }
    return fields;
  }

  void declare_types() {
    world_.interface = module_.declare_interface("Shape");
    module_.define_methods(world_.interface,
                           {{"measure", {{kI64Value}, {kI64Value}}},
                            {"compare", {{kF64Value, reference(world_.interface)}, {kF64Value}}}});
    for (std::uint32_t n = 1 + (world_.options.small ? 0 : choices_.below(3)); n > 0; --n)
      world_.classes.push_back(module_.declare_class(fmt::format("C{}", n)));
    world_.weak = module_.weak_type(world_.classes[0]);
    for (std::uint32_t kind = 0; kind < 11; ++kind)
      world_.arrays.push_back(module_.array_type(primitive(static_cast<Kind>(kind))));
    world_.floats = module_.array_type(kF64Value);
    world_.longs = module_.array_type(kI64Value);
    world_.matrix = module_.array_type(primitive(Kind::kF32), 2);
    const std::uint32_t plain = module_.declare_struct("Plain");
    const std::uint32_t mixed = module_.declare_struct("Mixed");
    for (const std::uint32_t type :
         {world_.matrix, module_.array_type(kI64Value, 3), module_.array_type(reference(plain)),
          module_.array_type(reference(mixed)), module_.array_type(reference(world_.classes[0])),
          module_.array_type(reference(kStringType), 2)})
      world_.arrays.push_back(type);
    world_.types = world_.classes;
    world_.types.insert(world_.types.end(), world_.arrays.begin(), world_.arrays.end());
    for (const std::uint32_t type : {world_.interface, world_.weak, kStringType})
      world_.types.push_back(type);
    for (const std::uint32_t type : world_.classes) module_.define_fields(type, random_fields(true));
    module_.define_fields(plain, random_fields(false));
    module_.define_fields(mixed, random_fields(true));
  }

  void methods() {
    const std::vector<Method> wanted = module_.type(world_.interface).methods;
    for (const std::uint32_t type : world_.classes) {
      Implementation implementation{world_.interface, {}};
      for (const Method& method : wanted) {
        Signature signature = method.signature;
        signature.parameters.insert(signature.parameters.begin(), reference(type));
        implementation.functions.push_back(
            module_.declare_function(module_.type(type).name + "." + method.name, std::move(signature)));
      }
      module_.implement(type, implementation);
      for (const std::uint32_t function : implementation.functions)
        BodyGenerator(world_, function, Role::kMethod).run();
    }
  }

  void pure_helpers() {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t id =
          module_.declare_function(fmt::format("pure{}", i), {{kI64Value, kF64Value}, {kF64Value}});
      BodyGenerator(world_, id, Role::kPure).run();
      world_.pure.push_back(id);
      world_.callable.push_back(id);
    }
  }

  Reduction random_reduction() {
    const Kind kind =
        choices_.pick({Kind::kF64, Kind::kI64, Kind::kI32, Kind::kBool, Kind::kF32, Kind::kU32, Kind::kU64});
    if (kind == Kind::kBool) return {static_cast<ReductionOp>(4 + choices_.below(3)), kind};
    const bool is_float = kind == Kind::kF64 || kind == Kind::kF32;
    return {static_cast<ReductionOp>(choices_.below(is_float ? 4 : 7)), kind};
  }

  void kernels() {
    for (std::uint32_t i = 0; i < std::min(world_.options.kernels, 6u); ++i) {
      KernelRecord kernel;
      kernel.dimensions = static_cast<std::uint8_t>(1 + choices_.below(3));
      Signature signature;
      for (std::uint32_t d = 0; d < kernel.dimensions; ++d) signature.parameters.push_back(kI64Value);
      for (std::uint32_t n = choices_.below(3); n > 0; --n)
        signature.parameters.push_back(
            primitive(choices_.pick({Kind::kF64, Kind::kI64, Kind::kI32, Kind::kF32})));
      for (std::uint32_t n = choices_.below(3); n > 0; --n) {
        kernel.reductions.push_back(random_reduction());
        signature.parameters.push_back(primitive(kernel.reductions.back().kind));
        signature.results.push_back(primitive(kernel.reductions.back().kind));
      }
      std::uint32_t own = world_.arrays[choices_.below(11)];
      if (kernel.dimensions == 2) own = world_.matrix;
      if (kernel.dimensions == 3) own = module_.array_type(kI64Value, 3);
      for (const std::uint32_t type : {world_.floats, own, world_.longs})
        signature.parameters.push_back(reference(type));
      kernel.function = module_.declare_function(fmt::format("kernel{}", i), std::move(signature));
      if (choices_.one_in(3)) kernel.device_hint = "gpu";
      if (choices_.one_in(3)) kernel.batch_hint = 1 + choices_.below(100);
      BodyGenerator(world_, kernel.function, Role::kKernel).run_kernel(kernel);
      world_.kernels.push_back(module_.add_kernel(std::move(kernel)));
    }
  }

  std::vector<ValueType> random_values(std::uint32_t most) {
    std::vector<ValueType> values;
    for (std::uint32_t n = choices_.below(most + 1); n > 0; --n) {
      if (choices_.one_in(3))
        values.push_back(reference(choices_.pick(world_.types)));
      else
        values.push_back(
            primitive(choices_.pick({Kind::kI32, Kind::kI64, Kind::kF32, Kind::kF64, Kind::kBool})));
    }
    return values;
  }

  void functions() {
    for (std::uint32_t i = 0; i < world_.options.functions; ++i) {
      const std::uint32_t inner =
          module_.declare_function(fmt::format("g{}", i), {random_values(4), random_values(3)});
      BodyGenerator(world_, inner, Role::kGeneral).run();
      world_.callable.push_back(inner);
      const std::uint32_t outer =
          module_.declare_function(fmt::format("f{}", i), {{kI64Value, kF64Value}, {kI64Value}}, true);
      BodyGenerator(world_, outer, Role::kGeneral).run();
      world_.callable.push_back(outer);
      exported_.push_back(outer);
    }
  }

  void main() {
    const std::uint32_t id = module_.declare_function("main", {{}, {primitive(Kind::kI32)}}, true);
    FunctionBuilder f(module_, id);
    f.load_integer(0, 1);
    for (const std::uint32_t function : exported_) {
      f.load_integer(1, choices_.below(1000));
      f.load_f64(2, choices_.below(1000) / 8.0);
      f.emit(Op::kCall, 1, 0, static_cast<std::uint16_t>(function));
      f.emit(Op::kMulImmI64, 0, 0, 31);
      f.emit(Op::kXorI64, 0, 0, 1);
    }
    f.emit(Op::kI64ToI32, 0, 0);
    f.emit(Op::kReturnP, 0);
    if (!f.finish().ok()) std::abort();
    module_.set_entry(id);
  }

  ModuleBuilder module_;
  Decisions choices_;
  World world_;
  std::vector<std::uint32_t> exported_;
};

}  // namespace

Module generate_module(std::span<const std::byte> bytes, const GeneratorOptions& options) {
  return ModuleGenerator(Decisions(bytes), options).run();
}

Module generate_module(std::uint64_t seed, const GeneratorOptions& options) {
  return ModuleGenerator(Decisions(seed), options).run();
}

}  // namespace dhpvm::bytecode::testing
