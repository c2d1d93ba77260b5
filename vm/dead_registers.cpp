// SPDX-License-Identifier: Apache-2.0
#include "vm/dead_registers.h"

#include <algorithm>
#include <utility>

#include "bytecode/instruction.h"

namespace dhpvm::vm {
namespace {

using bytecode::RegisterSet;
using bytecode::Word;

// How the needed registers of a frame are known.
enum class Registers : std::uint8_t {
  kAtPlace,   // an interpreted call that stands at a known instruction
  kMirrored,  // a compiled call: its needed registers lie below those of the frame above
  kUnknown,
};

bool contains_code(const Context& context, const LinkedFunction& function, const Word* pc) {
  if (function.source == nullptr) return false;
  const Word* const code = context.linked->code_of(function);
  return pc >= code && pc < code + function.source->code_size;
}

// `pc`: where the call of the frame will go on.
Registers registers_of(const Context& context, const Frame& frame, const Word* pc) {
  // An iteration that needs an array no more leaves it to the next one.
  if (frame.return_pc == &kIterateCode || frame.return_pc == &kAnchorCode) return Registers::kUnknown;
  return contains_code(context, *frame.function, pc) ? Registers::kAtPlace : Registers::kUnknown;
}

// The same for the frame below `frame`.
Registers registers_below(const Context& context, const Frame& frame) {
  // An anchor, or a frame without a function, lies on the frame of a compiled function.
  if (frame.return_pc == &kAnchorCode || frame.function == &context.outermost) return Registers::kMirrored;
  return registers_of(context, *(&frame - 1), frame.return_pc);
}

}  // namespace

void DeadRegisters::clear(const Context& context) {
  const Frame* frame = context.frame;
  gc::Ref* registers = context.r;
  const Word* pc = context.pc;
  Registers known = registers_of(context, *frame, pc);
  gc::Ref* const top = registers + frame->function->reference_registers;
  gc::Ref* used_end = top;  // behind all registers that belong to frames seen so far
  gc::Ref* callee = top;    // the first register of the frame above
  const Word* needed_pc = nullptr;
  const RegisterSet* needed = nullptr;  // at needed_pc
  for (;; --frame) {
    gc::Ref* const end = registers + frame->function->reference_registers;
    // Registers of a call that lie beyond the frames above it are dead: its callees have overwritten them.
    if (known != Registers::kUnknown && end > used_end) std::fill(used_end, end, nullptr);
    if (known == Registers::kAtPlace) {
      // In a deep recursion, most frames stand at the same instruction.
      if (std::exchange(needed_pc, pc) != pc) needed = &needed_at(context, *frame->function, pc);
      for (gc::Ref* slot = registers; slot < std::min(end, callee); ++slot) {
        if (!bytecode::contains(*needed, static_cast<std::uint32_t>(slot - registers))) *slot = nullptr;
      }
    }
    used_end = std::max(used_end, end);
    if (frame->caller_r == nullptr) return;
    callee = registers;
    registers = frame->caller_r;
    pc = frame->return_pc;
    known = registers_below(context, *frame);
  }
}

const RegisterSet& DeadRegisters::needed_at(const Context& context, const LinkedFunction& function,
                                            const Word* pc) {
  const auto found = needed_.find(pc);
  if (found != needed_.end()) return found->second;
  return needed_.emplace(pc, find_needed(context, function, pc)).first->second;
}

RegisterSet DeadRegisters::find_needed(const Context& context, const LinkedFunction& function,
                                       const Word* pc) {
  const bytecode::Module& module = context.linked->module();
  const Analysis& analysis = analysis_of(module, function);
  const auto offset = static_cast<std::uint32_t>(pc - context.linked->code_of(function));
  const auto block = std::ranges::find_if(analysis.blocks, [&](const bytecode::CodeBlock& candidate) {
    return candidate.begin <= offset && offset < candidate.end;
  });
  RegisterSet needed =
      analysis.liveness.before(static_cast<std::uint32_t>(block - analysis.blocks.begin()), offset);
  // A call that has not returned yet may trap, and be caught here.
  for (std::uint32_t number = 0; offset > 0 && number < analysis.blocks.size(); ++number) {
    const std::uint32_t begin = analysis.blocks[number].begin;
    if (begin < offset && bytecode::decode(module, *function.source, begin).next() == offset)
      analysis.liveness.add_if_caught(number, begin, needed);
  }
  // A native function keeps in its windows everything that it needs, results included.
  const bytecode::Instruction instruction = bytecode::decode(module, *function.source, offset);
  if (instruction.row->family == bytecode::Family::kCallNative) {
    const std::uint32_t results =
        bytecode::split(bytecode::called_signature(module, instruction).results).references;
    for (std::uint32_t reg = instruction.b; reg < instruction.b + results; ++reg)
      needed[reg / 64] |= std::uint64_t{1} << reg % 64;
  }
  return needed;
}

const DeadRegisters::Analysis& DeadRegisters::analysis_of(const bytecode::Module& module,
                                                          const LinkedFunction& function) {
  std::unique_ptr<Analysis>& analysis = analyses_[function.index];
  if (analysis == nullptr) {
    std::vector<bytecode::CodeBlock> blocks = bytecode::find_blocks(module, *function.source);
    bytecode::ReferenceLiveness liveness(module, *function.source, blocks);
    analysis = std::make_unique<Analysis>(std::move(blocks), std::move(liveness));
  }
  return *analysis;
}

}  // namespace dhpvm::vm
