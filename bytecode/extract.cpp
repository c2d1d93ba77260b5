// SPDX-License-Identifier: Apache-2.0
#include "bytecode/extract.h"

#include <map>

#include "bytecode/decode.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {
namespace {

// Every module has the string type and the resource type.
constexpr std::uint32_t kFixedTypes = 2;

class Extraction {
 public:
  explicit Extraction(const Module& from) : from_(from) {
    Module& to = result_.module;
    to.types.assign(from.types.begin(), from.types.begin() + kFixedTypes);
  }

  ExtractedKernel run(std::uint32_t kernel) {
    KernelRecord record = from_.kernels[kernel];
    record.function = function(record.function);
    // The hints have been applied already.
    record.device_hint.clear();
    record.batch_hint = 0;
    // The client makes the messages, so arrays need no names here; GPUs need to know that iterations are blocks.
    record.source.arrays.clear();
    result_.module.kernels.push_back(std::move(record));
    // copy_function() may append callees to the list.
    for (std::uint32_t number = 0; number < result_.functions.size(); ++number) copy_function(number);
    return std::move(result_);
  }

 private:
  // The number in the new module, assigned at the first use.
  std::uint32_t function(std::uint32_t old) {
    const auto [found, is_new] = functions_.try_emplace(old, static_cast<std::uint32_t>(functions_.size()));
    if (is_new) result_.functions.push_back(old);
    return found->second;
  }
  std::uint32_t string(std::uint32_t old) {
    if (old == kNoIndex) return kNoIndex;
    std::vector<std::string>& strings = result_.module.strings;
    const auto [found, is_new] = strings_.try_emplace(old, static_cast<std::uint32_t>(strings.size()));
    if (is_new) strings.push_back(from_.strings[old]);
    return found->second;
  }
  std::uint32_t type(std::uint32_t old) {
    if (old < kFixedTypes) return old;
    if (const auto found = types_.find(old); found != types_.end()) return found->second;
    // Kernels use arrays, and structs without references, so types are not recursive.
    Type copy = from_.types[old];
    copy.element = value(copy.element);
    for (Field& field : copy.fields) field.type = value(field.type);
    const auto number = static_cast<std::uint32_t>(result_.module.types.size());
    types_.emplace(old, number);
    result_.module.types.push_back(std::move(copy));
    return number;
  }
  ValueType value(ValueType old) {
    if (old.is_ref()) old.type = type(old.type);
    return old;
  }

  void copy_function(std::uint32_t number) {
    Module& to = result_.module;
    Function copy = from_.functions[result_.functions[number]];
    copy.name = string(copy.name);
    copy.exported = false;
    copy.structs.clear();
    for (ValueType& parameter : copy.signature.parameters) parameter = value(parameter);
    for (ValueType& result : copy.signature.results) result = value(result);
    for (Line& line : copy.lines) line.file = string(line.file);
    const Word* const code = from_.code.data() + copy.code_offset;
    copy.code_offset = static_cast<std::uint32_t>(to.code.size());
    for (std::uint32_t pc = 0; pc < copy.code_size;) {
      const Word word = code[pc];
      const unsigned words = kDecode[op_of(word)].words;
      to.code.push_back(instruction(word));
      if (words == 2) to.code.push_back(code[pc + 1]);
      pc += words;
    }
    to.functions.push_back(std::move(copy));
  }

  Word instruction(Word word) {
    switch (static_cast<Op>(op_of(word))) {
      case Op::kCall:
        return encode(Op::kCall, a_of(word), b_of(word), static_cast<std::uint16_t>(function(c_of(word))));
      // The client makes the message. Older workers know a trap with a code, too.
      case Op::kTrapText: return encode(Op::kTrap, static_cast<std::uint16_t>(ErrorCode::kUserTrap), 0, 0);
      default: return word;
    }
  }

  const Module& from_;
  ExtractedKernel result_;
  std::map<std::uint32_t, std::uint32_t> functions_;
  std::map<std::uint32_t, std::uint32_t> strings_;
  std::map<std::uint32_t, std::uint32_t> types_;
};

}  // namespace

ExtractedKernel extract_kernel(const Module& module, std::uint32_t kernel) {
  return Extraction(module).run(kernel);
}

}  // namespace dhpvm::bytecode
