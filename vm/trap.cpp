// SPDX-License-Identifier: Apache-2.0
#include "vm/trap.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/loops/footprint.h"
#include "vm/values.h"

namespace dhpvm::vm {
namespace {

using bytecode::a_of;
using bytecode::b_of;
using bytecode::bc_of;
using bytecode::c_of;
using bytecode::Op;
using bytecode::Word;

// Long traces, such as those of endless recursion, are shown by their two ends.
constexpr std::size_t kInnermostFrames = 20;
constexpr std::size_t kOutermostFrames = 10;

StackFrame describe(const LinkedModule& linked, const TracePosition& position) {
  const bytecode::Module& module = linked.module();
  StackFrame frame;
  frame.function = module.name_of(*position.function->source);
  if (const bytecode::Line* line = linked.line_at(*position.function, position.pc)) {
    if (line->file != bytecode::kNoIndex) frame.file = module.strings[line->file];
    frame.line = line->line;
  }
  return frame;
}

// Each call that closes something on the way catches the trap and lets it go on, which adds frames: this many are
// enough.
constexpr std::size_t kMostFrames = 100;

void append_trace(const Context& context, std::vector<StackFrame>& frames) {
  if (frames.size() > kMostFrames) return;
  const std::size_t count = context.trace.size();
  const bool elide = count > kInnermostFrames + kOutermostFrames + 1;
  for (std::size_t index = 0; index < count; ++index) {
    if (elide && index == kInnermostFrames) {
      const std::size_t elided = count - kInnermostFrames - kOutermostFrames;
      frames.push_back({.function = fmt::format("... {} more calls ...", elided), .file = {}});
      index += elided;
    }
    frames.push_back(describe(*context.linked, context.trace[index]));
  }
}

// "(3, 4)", or "3" alone.
std::string tuple_text(std::span<const std::int64_t> indices) {
  if (indices.size() == 1) return fmt::format("{}", indices[0]);
  return fmt::format("({})", fmt::join(indices, ", "));
}

// If the loop counts blocks: the iterations of one block. Only the bounds of the outermost range are known.
std::string block_text(const InterpretedLoop& loop, std::int64_t block) {
  const bytecode::KernelSource& source = loop.kernel->record->source;
  const std::uint64_t* const bounds =
      loop.window + 2 * loop.kernel->dimensions + (source.block_rows - loop.kernel->dimensions);
  // Unsigned, because damaged modules may overflow; those of the compiler do not.
  const std::uint64_t first = bounds[1] + static_cast<std::uint64_t>(block) * bounds[0];
  const std::uint64_t last = first + std::min(bounds[0], bounds[2] - first) - 1;
  const std::string_view rest = source.iterated.size() == 1   ? ""
                                : source.iterated.size() == 2 ? ", .."
                                                              : ", .., ..";
  const auto around = [&](std::string_view text) {
    return rest.empty() ? std::string(text) : fmt::format("({}{})", text, rest);
  };
  if (first == last && rest.empty()) return fmt::format("iteration {}", get<std::int64_t>(first));
  if (first == last) return "iterations " + around(fmt::format("{}", get<std::int64_t>(first)));
  return "iterations " + around(fmt::format("{} to {}", get<std::int64_t>(first), get<std::int64_t>(last)));
}

std::string current_iteration(const Context& context) {
  const InterpretedLoop& loop = context.loop;
  const std::vector<std::uint16_t>& counters = loop.kernel->record->source.iterated;
  if (loop.p == nullptr || !can_repeat_block(*context.linked, *loop.kernel))
    return iteration_text(loop, loop.linear_index());
  std::vector<std::int64_t> indices;
  for (const std::uint16_t counter : counters) indices.push_back(get<std::int64_t>(loop.p[counter]));
  return "iteration " + tuple_text(indices);
}

// Adds which iteration failed, which says more than the line. Not for limits, which strike at random.
std::string with_iteration(const Context& context, const Error& error) {
  switch (error.code()) {
    case ErrorCode::kOutOfFuel:
    case ErrorCode::kDeadline:
    case ErrorCode::kInterrupted:
    case ErrorCode::kRace: return error.message();
    default: break;
  }
  return fmt::format("{}{}in {} of the parallel loop", error.message(), error.message().empty() ? "" : ", ",
                     current_iteration(context));
}

std::string dividend_text(std::uint64_t value, bytecode::Kind kind) {
  const bool wide = size_of(kind) == sizeof(std::uint64_t);
  if (is_signed(kind))
    return wide ? fmt::format("{}", get<std::int64_t>(value)) : fmt::format("{}", get<std::int32_t>(value));
  return wide ? fmt::format("{}", value) : fmt::format("{}", get<std::uint32_t>(value));
}

Error division_trap(const Context& context) {
  const Word word = *context.pc;
  const bytecode::OpInfo& row = bytecode::info(static_cast<Op>(bytecode::op_of(word)));
  return error(ErrorCode::kDivisionByZero, "{} {} 0", dividend_text(context.p[b_of(word)], *row.kind),
               row.operation == bytecode::Operation::kRem ? '%' : '/');
}

Error local_index_trap(const Context& context) {
  const Word word = *context.pc;
  // Loads are P, local, index; stores are local, index, P.
  const bytecode::OpInfo& row = bytecode::info(static_cast<Op>(bytecode::op_of(word)));
  const bool load = row.memory() == bytecode::Memory::kReadsLocal;
  const LinkedLocal& local = context.frame->function->locals[load ? b_of(word) : a_of(word)];
  return error(ErrorCode::kIndexOutOfRange, "index {} is out of range for the local array of length {}",
               get<std::int64_t>(context.p[load ? c_of(word) : b_of(word)]), local.count);
}

// Whether the register of the current function holds an array of which each block of a loop has a part of its own.
bool is_part_of_block(const Context& context, std::uint16_t reg) {
  if (!context.loop.active || context.frame->function != context.loop.kernel->function) return false;
  const std::vector<bytecode::KernelSource::Array>& arrays = context.loop.kernel->record->source.arrays;
  return reg < arrays.size() && arrays[reg].is_parts;
}

// For index2 and index3: the first of the indices that is outside its dimension.
Error dimension_trap(const Context& context) {
  const Word word = *context.pc;
  const Word extra = context.pc[1];
  const auto& array = *reinterpret_cast<const gc::MultiArray*>(context.r[b_of(word)]);
  const bytecode::OpInfo& row = bytecode::info(static_cast<Op>(bytecode::op_of(word)));
  const bool third = row.x == bytecode::Operand::kPP;
  const std::uint64_t indices[3] = {context.p[c_of(word)], context.p[bytecode::x0_of(extra)],
                                    third ? context.p[bytecode::x1_of(extra)] : 0};
  unsigned dimension = 0;
  while (dimension < 2 && indices[dimension] < get<std::uint64_t>(array.dims[dimension])) ++dimension;
  // The program sees its part of the block as its array, without the dimension in front.
  const bool is_part = is_part_of_block(context, b_of(word));
  if (is_part && !third)
    return error(ErrorCode::kIndexOutOfRange, "index {} is out of range for length {}",
                 get<std::int64_t>(indices[dimension]), array.dims[dimension]);
  return error(ErrorCode::kIndexOutOfRange, "index {} is out of range for dimension {} of size {}",
               get<std::int64_t>(indices[dimension]), is_part ? dimension - 1 : dimension,
               array.dims[dimension]);
}

Error string_index_trap(const Context& context) {
  const Word word = *context.pc;
  const auto& string = *reinterpret_cast<const gc::String*>(context.r[b_of(word)]);
  return error(ErrorCode::kIndexOutOfRange, "byte {} is out of range for a string of {} bytes",
               get<std::int64_t>(context.p[c_of(word)]), string.size);
}

Error cast_trap(const Context& context) {
  const bytecode::Module& module = context.linked->module();
  const gc::Ref object = context.r[b_of(*context.pc)];
  return error(ErrorCode::kBadCast, "the object is a '{}', not a '{}'",
               module.types[object->header.type].name,
               module.types[static_cast<std::uint32_t>(context.pc[1])].name);
}

// The operation that the instruction attempted on null.
std::string_view null_text(bytecode::Family family) {
  using bytecode::Family;
  switch (family) {
    case Family::kGetWeak: return "the target of a null weak reference was read";
    case Family::kGetField: return "a field of null was read";
    case Family::kPutField: return "a field of null was written";
    case Family::kLoad:
    case Family::kLoadField: return "an element of a null array was read";
    case Family::kStore:
    case Family::kStoreField: return "an element of a null array was written";
    case Family::kArrayLength:
    case Family::kArrayDim:
    case Family::kArrayCopy:
    case Family::kArrayClose:
    case Family::kIndex:
    case Family::kAtomic: return "null was used as an array";
    case Family::kStringLength:
    case Family::kStringByte:
    case Family::kStringConcat:
    case Family::kStringCompare: return "null was used as a string";
    case Family::kCallInterface: return "a method of null was called";
    default: return "null was used where an object is needed";
  }
}

Error message_trap(const Context& context) {
  const auto* text = reinterpret_cast<const gc::String*>(context.r[a_of(*context.pc)]);
  if (text == nullptr) return Error(ErrorCode::kNullReference, "the message of a trap is null");
  return Error(ErrorCode::kUserTrap, std::string(text->view()));
}

// `trap.text` and `trap`. Modules of version 1.1 and before have a bare kUserTrap where a step is not positive.
Error code_trap(const Context& context) {
  const Word word = *context.pc;
  if (bytecode::info(static_cast<Op>(bytecode::op_of(word))).b == bytecode::Operand::kString)
    return Error(ErrorCode::kUserTrap,
                 context.linked->module().strings[static_cast<std::uint32_t>(bc_of(word))]);
  const auto code = static_cast<ErrorCode>(a_of(word));
  return Error(code, code == ErrorCode::kUserTrap ? "step must be positive" : "");
}

Error make_error(const Context& context, TrapReason reason) {
  switch (reason) {
    case TrapReason::kDivisionByZero: return division_trap(context);
    case TrapReason::kNull: return null_trap(context);
    case TrapReason::kLocalIndex: return local_index_trap(context);
    case TrapReason::kDimension: return dimension_trap(context);
    case TrapReason::kStringIndex: return string_index_trap(context);
    case TrapReason::kBadCast: return cast_trap(context);
    case TrapReason::kTrapMessage: return message_trap(context);
    case TrapReason::kTrapCode: return code_trap(context);
    case TrapReason::kStackOverflow: break;
  }
  return Error(ErrorCode::kStackOverflow,
               "calls are nested too deeply; raise the stack limit if this is intended");
}

}  // namespace

Error null_trap(const Context& context) {
  const bytecode::OpInfo& row = bytecode::info(static_cast<Op>(bytecode::op_of(*context.pc)));
  return Error(ErrorCode::kNullReference, std::string(null_text(row.family)));
}

std::string iteration_text(const InterpretedLoop& loop, std::uint64_t linear) {
  std::int64_t indices[3] = {};
  for (int d = loop.inner; d >= 0; --d) {
    const std::uint64_t extent =
        static_cast<std::uint64_t>(loop.high[d]) - static_cast<std::uint64_t>(loop.low[d]);
    indices[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(loop.low[d]) + linear % extent);
    linear /= extent;
  }
  if (!loop.kernel->record->source.iterated.empty()) return block_text(loop, indices[0]);
  return "iteration " + tuple_text(std::span(indices).first(loop.inner + std::size_t{1}));
}

bool can_repeat_block(const LinkedModule& linked, const LinkedKernel& kernel) {
  const bytecode::KernelSource& source = kernel.record->source;
  if (source.iterated.empty() || source.arrays.size() != kernel.arrays) return false;
  const offload::Footprint footprint = offload::analyse(linked.module(), *kernel.record);
  if (!footprint.complete) return false;
  for (std::size_t i = 0; i < kernel.arrays; ++i) {
    const bytecode::KernelSource::Array& array = source.arrays[i];
    const bool is_own = array.is_parts || linked.module().strings[array.name].empty();
    if (!is_own && (footprint.arrays[i].is_written || footprint.arrays[i].is_updated)) return false;
  }
  return true;
}

std::string position_text(const LinkedModule& linked, const Word* pc) {
  const LinkedFunction* function = linked.function_at(pc);
  if (function == nullptr) return {};
  const StackFrame frame = describe(linked, {function, pc});
  return frame.file.empty() ? std::string() : fmt::format("{}:{}", frame.file, frame.line);
}

void raise(Context& context, Error error) {
  if (context.loop.active) {
    Error located(error.code(), with_iteration(context, error));
    error = std::move(located);
  }
  context.trap = std::move(error);
  context.trace.clear();
  context.trace.push_back(
      {context.frame->function, context.pc == &kIterateCode ? context.loop.site : context.pc});
  trace_callers(context);
}

void trace_callers(Context& context) {
  for (const Frame* frame = context.frame; frame->return_pc != &kExitCode && frame->return_pc != &kAnchorCode;
       --frame) {
    // Between two iterations of a parallel loop the program stands at the loop itself.
    const Word* const pc = frame->return_pc == &kIterateCode ? context.loop.site : frame->return_pc - 1;
    context.trace.push_back({(frame - 1)->function, pc});
  }
}

Error take_trap(Context& context) {
  Error error = *std::exchange(context.trap, std::nullopt);
  std::vector<StackFrame> frames = error.frames();
  append_trace(context, frames);
  context.trace.clear();
  return std::move(error).with_frames(std::move(frames));
}

void raise(Context& context, TrapReason reason) { raise(context, make_error(context, reason)); }

}  // namespace dhpvm::vm
