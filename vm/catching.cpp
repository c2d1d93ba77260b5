// SPDX-License-Identifier: Apache-2.0
#include "vm/catching.h"

#include <utility>

#include "base/error.h"
#include "bytecode/control_flow.h"
#include "vm/context.h"
#include "vm/trap.h"

namespace dhpvm::vm {

using bytecode::kNoIndex;
using bytecode::Word;

const Word* Catching::handler(const LinkedModule& linked, const LinkedFunction& function, const Word* pc) {
  if (function.source == nullptr) return nullptr;
  const Word* const code = linked.code_of(function);
  if (pc < code || pc >= code + function.source->code_size) return nullptr;
  auto known = handlers_.find(function.index);
  if (known == handlers_.end())
    known =
        handlers_.emplace(function.index, bytecode::find_handlers(linked.module(), *function.source)).first;
  if (known->second.empty()) return nullptr;
  const std::uint32_t target = known->second[static_cast<std::size_t>(pc - code)];
  return target == kNoIndex ? nullptr : code + target;
}

bool is_catchable(const Error& trap) {
  switch (trap.code()) {
    case ErrorCode::kIndexOutOfRange:
    case ErrorCode::kNegativeLength:
    case ErrorCode::kDivisionByZero:
    case ErrorCode::kNullReference:
    case ErrorCode::kBadCast:
    case ErrorCode::kBorrowEnded:
    case ErrorCode::kClosed:
    case ErrorCode::kUserTrap:
    case ErrorCode::kHostException:
    case ErrorCode::kIoTrap: return true;
    default: return false;
  }
}

bool continue_at_handler(Context& context) {
  if (!is_catchable(*context.trap)) return false;
  const Frame* frame = context.frame;
  const Word* pc = context.pc;
  std::uint64_t* p = context.p;
  gc::Ref* r = context.r;
  bool in_loop = context.loop.active;
  for (;;) {
    if (const Word* const handler = context.catching.handler(*context.linked, *frame->function, pc)) {
      // The number of calls below this one, which are not left.
      std::size_t callers = 0;
      for (const Frame* at = frame; at->return_pc != &kExitCode && at->return_pc != &kAnchorCode; --at)
        ++callers;
      context.trace.resize(context.trace.size() - callers);
      context.pc = handler;
      context.p = p;
      context.r = r;
      context.frame = const_cast<Frame*>(frame);
      context.loop.active = in_loop;
      return true;
    }
    if (frame->return_pc == &kExitCode || frame->return_pc == &kAnchorCode) return false;
    if (frame->return_pc == &kIterateCode) {
      // The loop belongs to the call below, unless it was begun from C++.
      if (context.loop.resume_pc == &kExitCode) return false;
      in_loop = false;
      pc = context.loop.site;
    } else {
      pc = frame->return_pc - 1;
    }
    p = frame->caller_p;
    r = frame->caller_r;
    --frame;
  }
}

std::int64_t keep_trap(Context& context) {
  // Each belongs to an active call, or to a block in it.
  constexpr std::size_t kMostKept = 100'000;
  std::vector<Error>& kept = context.catching.kept;
  if (kept.size() >= kMostKept) {
    context.trap.reset();
    raise(context, TrapReason::kStackOverflow);
    return -1;
  }
  kept.push_back(take_trap(context));
  return static_cast<std::int64_t>(kept.size()) - 1;
}

void raise_again(Context& context, std::int64_t number) {
  std::vector<Error>& kept = context.catching.kept;
  if (number < 0 || static_cast<std::size_t>(number) >= kept.size())
    return raise(context, Error(ErrorCode::kUserTrap, "no trap is kept under this number"));
  context.trap = std::move(kept[static_cast<std::size_t>(number)]);
  kept.erase(kept.begin() + number, kept.end());
  context.trace.clear();
  trace_callers(context);
}

}  // namespace dhpvm::vm
