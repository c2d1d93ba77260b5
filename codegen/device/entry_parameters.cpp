// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/entry_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/codegen.h"
#include "codegen/device/builtins.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::codegen {
namespace {

using llvm::Value;

bool is_buffer(ParameterKind kind) {
  return kind == ParameterKind::kData || kind == ParameterKind::kPartials || kind == ParameterKind::kReport;
}

// The parameter's name in listings.
std::string name_of(const KernelParameter& parameter);

std::string name_of_constant(const KernelParameter& parameter) {
  KernelParameter divisor = parameter;
  divisor.form = ParameterForm::kValue;
  constexpr std::string_view kNames[] = {"", "_multiplier", "_shift", "_small_multiplier", "_small_shift"};
  return name_of(divisor) + std::string(kNames[static_cast<unsigned>(parameter.form)]);
}

std::string name_of(const KernelParameter& parameter) {
  if (parameter.form != ParameterForm::kValue) return name_of_constant(parameter);
  const std::uint32_t index = parameter.index;
  switch (parameter.kind) {
    case ParameterKind::kLow: return fmt::format("low{}", index);
    case ParameterKind::kHigh: return fmt::format("high{}", index);
    case ParameterKind::kScalar: return fmt::format("s{}", index);
    case ParameterKind::kData: return fmt::format("a{}", index);
    case ParameterKind::kDataOffset: return fmt::format("a{}_offset", index);
    case ParameterKind::kReadable: return fmt::format("a{}_readable", index);
    case ParameterKind::kWritable: return fmt::format("a{}_writable", index);
    case ParameterKind::kLength: return fmt::format("a{}_length", index);
    case ParameterKind::kDimension: return fmt::format("a{}_dim{}", index, parameter.dimension);
    case ParameterKind::kPartials: return "partials";
    case ParameterKind::kPartialsOffset: return "partials_offset";
    case ParameterKind::kReport: return "report";
    case ParameterKind::kReportOffset: break;
  }
  return "report_offset";
}

}  // namespace

EntryParameters::EntryParameters(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                                 const KernelBody& body, Buffers buffers, const char* name,
                                 llvm::Module& module)
    : body_(body), buffers_(buffers) {
  for (const bytecode::ValueType& type : bytecode.functions[record.function].signature.parameters) {
    arrays_ += type.is_ref() ? 1 : 0;
  }
  const auto add = [&](ParameterKind kind, std::uint32_t index = 0, std::uint32_t dimension = 0) {
    list_.push_back({kind, index, dimension});
  };
  const auto add_divisor = [&](ParameterKind kind, std::uint32_t index, std::uint32_t dimension = 0) {
    add(kind, index, dimension);
    if (buffers != Buffers::kAddresses) return;
    for (const ParameterForm form : {ParameterForm::kMultiplier, ParameterForm::kShift,
                                     ParameterForm::kSmallMultiplier, ParameterForm::kSmallShift})
      list_.push_back({kind, index, dimension, form});
  };
  const bool offsets = buffers == Buffers::kAndOffsets;
  for (std::uint32_t d = 0; d < record.dimensions; ++d) {
    add(ParameterKind::kLow, d);
    add(ParameterKind::kHigh, d);
  }
  for (std::uint32_t n = 0; n < body.scalars.size(); ++n) {
    body.scalars[n]->isIntegerTy(64) ? add_divisor(ParameterKind::kScalar, n)
                                     : add(ParameterKind::kScalar, n);
  }
  for (std::uint32_t n = 0; n < arrays_; ++n) {
    add(ParameterKind::kData, n);
    if (offsets) add(ParameterKind::kDataOffset, n);
    add(ParameterKind::kReadable, n);
    add(ParameterKind::kWritable, n);
    add_divisor(ParameterKind::kLength, n);
    for (std::uint32_t d = 0; d < 3; ++d) add_divisor(ParameterKind::kDimension, n, d);
  }
  add(ParameterKind::kPartials);
  if (offsets) add(ParameterKind::kPartialsOffset);
  add(ParameterKind::kReport);
  if (offsets) add(ParameterKind::kReportOffset);

  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types;
  for (const KernelParameter& parameter : list_) {
    types.push_back(is_buffer(parameter.kind)
                        ? static_cast<llvm::Type*>(llvm::PointerType::get(context, kGlobalSpace))
                        : llvm::Type::getInt64Ty(context));
  }
  function_ = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                     llvm::GlobalValue::ExternalLinkage, name, module);
  function_->setDoesNotThrow();
  for (unsigned n = 0; n < list_.size(); ++n) function_->getArg(n)->setName(name_of(list_[n]));
}

Value* EntryParameters::at(ParameterKind kind, std::size_t index, std::uint32_t dimension) const {
  const KernelParameter wanted = {kind, static_cast<std::uint32_t>(index), dimension};
  return function_->getArg(static_cast<unsigned>(std::ranges::find(list_, wanted) - list_.begin()));
}

Value* EntryParameters::address(llvm::IRBuilderBase& b, ParameterKind kind, ParameterKind offset,
                                std::size_t index) const {
  if (buffers_ == Buffers::kAddresses) return at(kind, index);
  return b.CreateGEP(b.getInt8Ty(), at(kind, index), at(offset, index));
}

Value* EntryParameters::partials(llvm::IRBuilderBase& b) const {
  return address(b, ParameterKind::kPartials, ParameterKind::kPartialsOffset);
}

Value* EntryParameters::report(llvm::IRBuilderBase& b) const {
  return address(b, ParameterKind::kReport, ParameterKind::kReportOffset);
}

Value* EntryParameters::scalar(llvm::IRBuilderBase& b, std::size_t index) const {
  llvm::Type* const type = body_.scalars[index];
  Value* bits = at(ParameterKind::kScalar, index);
  if (type->getPrimitiveSizeInBits() == 32) bits = b.CreateTrunc(bits, b.getInt32Ty());
  return b.CreateBitCast(bits, type);
}

Value* EntryParameters::make_descriptors(llvm::IRBuilderBase& b) const {
  constexpr std::uint64_t kWords = sizeof(KernelArray) / 8;  // all fields are words
  auto* const type = llvm::ArrayType::get(b.getInt64Ty(), std::max<std::uint64_t>(1, arrays_) * kWords);
  llvm::AllocaInst* const memory = b.CreateAlloca(type, nullptr, "arrays");
  memory->setAlignment(llvm::Align(8));
  for (std::uint32_t n = 0; n < arrays_; ++n) {
    const auto put = [&](std::uint64_t offset, Value* value) {
      b.CreateStore(value,
                    b.CreateInBoundsGEP(b.getInt8Ty(), memory, b.getInt64(n * sizeof(KernelArray) + offset)));
    };
    put(offsetof(KernelArray, data), address(b, ParameterKind::kData, ParameterKind::kDataOffset, n));
    put(offsetof(KernelArray, shape.readable), at(ParameterKind::kReadable, n));
    put(offsetof(KernelArray, shape.writable), at(ParameterKind::kWritable, n));
    put(offsetof(KernelArray, shape.length), at(ParameterKind::kLength, n));
    for (std::uint32_t d = 0; d < 3; ++d) {
      put(offsetof(KernelArray, shape.dims) + 8 * d, at(ParameterKind::kDimension, n, d));
    }
  }
  return memory;
}

void mark_small_indices(DeviceEntry& entry) {
  const llvm::ConstantRange range(llvm::APInt(64, 0), llvm::APInt(64, kSmallIndices));
  const auto small = llvm::Attribute::get(entry.function->getContext(), llvm::Attribute::Range, range);
  for (unsigned n = 0; n < entry.parameters.size(); ++n) {
    const KernelParameter& parameter = entry.parameters[n];
    if (parameter.form != ParameterForm::kValue) continue;
    switch (parameter.kind) {
      case ParameterKind::kLow:
      case ParameterKind::kHigh:
      case ParameterKind::kReadable:
      case ParameterKind::kWritable:
      case ParameterKind::kLength:
      case ParameterKind::kDimension: entry.function->addParamAttr(n, small); break;
      default: break;
    }
  }
}

void mark_alignment(DeviceEntry& entry) {
  const auto aligned =
      llvm::Attribute::getWithAlignment(entry.function->getContext(), llvm::Align(kDataAlignment));
  for (unsigned n = 0; n < entry.parameters.size(); ++n) {
    if (entry.parameters[n].kind == ParameterKind::kData) entry.function->addParamAttr(n, aligned);
  }
}

void mark_distinct_arrays(DeviceEntry& entry) {
  const auto is_array = [](const KernelParameter& parameter) {
    return parameter.kind == ParameterKind::kData;
  };
  if (std::ranges::count_if(entry.parameters, is_array) < 2) return;
  for (unsigned n = 0; n < entry.parameters.size(); ++n) {
    if (is_array(entry.parameters[n])) entry.function->addParamAttr(n, llvm::Attribute::NoAlias);
  }
}

void drop_unused_parameters(DeviceEntry& entry) {
  llvm::Function& old = *entry.function;
  std::vector<llvm::Type*> types;
  std::vector<KernelParameter> used;
  for (llvm::Argument& argument : old.args()) {
    if (argument.use_empty()) continue;
    types.push_back(argument.getType());
    used.push_back(entry.parameters[argument.getArgNo()]);
  }
  llvm::Function* const function = llvm::Function::Create(
      llvm::FunctionType::get(old.getReturnType(), types, false), old.getLinkage(), "", old.getParent());
  function->takeName(&old);
  function->setDoesNotThrow();
  function->splice(function->begin(), &old);
  unsigned next = 0;
  for (llvm::Argument& argument : old.args()) {
    if (argument.use_empty()) continue;
    llvm::Argument* const mine = function->getArg(next++);
    argument.replaceAllUsesWith(mine);
    mine->takeName(&argument);
  }
  old.eraseFromParent();
  entry = {function, std::move(used)};
}

}  // namespace dhpvm::codegen
