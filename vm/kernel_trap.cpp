// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel_trap.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "vm/isolate.h"
#include "vm/operands.h"
#include "vm/runtime.h"
#include "vm/trap.h"
#include "vm/values.h"

namespace dhpvm::vm {

void raise_kernel_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                       const codegen::KernelTrap& trap, std::uint64_t* window, const gc::Ref* references) {
  const bytecode::Word* const pc = context.pc;
  std::uint64_t* const outer_p = context.p;
  gc::Ref* const outer_r = context.r;
  Frame* const frame = context.frame;
  InterpretedLoop& loop = context.loop;
  loop.kernel = &kernel;
  loop.site = pc;
  loop.window = window;
  loop.p = nullptr;
  loop.inner = static_cast<std::uint16_t>(kernel.dimensions - 1);
  std::copy_n(trap.index, 3, loop.index);
  for (unsigned d = 0; d < kernel.dimensions; ++d) {
    // Only the index itself shows in the message.
    loop.low[d] = trap.index[d];
    loop.high[d] = trap.index[d] + 1;
  }
  loop.active = true;
  const bytecode::Word* return_pc = &kIterateCode;
  for (std::size_t n = site.calls.size(); n-- > 0;) {
    const LinkedFunction& function = context.linked->functions()[site.calls[n].function];
    *++context.frame = {return_pc, outer_p, outer_r, &function, frame->stack_left};
    context.pc = context.linked->code_of(function) + site.calls[n].pc;
    return_pc = context.pc + 1;  // behind the call
  }
  const LinkedFunction& innermost = *context.frame->function;
  std::vector<std::uint64_t> p(innermost.primitive_registers);
  std::vector<gc::Ref> registers(innermost.reference_registers);
  const gc::Ref array = kernel.arrays == 0 ? nullptr : references[trap.array];
  place_operands(context, p.data(), registers.data(), trap.operands, array);
  if (site.kind == codegen::KernelSite::Kind::kTrap) {
    raise(context, site.trap);
  } else if (array == nullptr) {
    raise(context, null_trap(context));
  } else {
    const bool write = site.kind == codegen::KernelSite::Kind::kWrite;
    Status status = context.isolate->make_accessible(*reinterpret_cast<gc::Array*>(array),
                                                     get<std::int64_t>(trap.operands[0]), write);
    raise(context, status.ok() ? Error(ErrorCode::kInternal,
                                       "a compiled loop found an element inaccessible that is "
                                       "accessible")
                               : std::move(status).error());
  }
  loop.active = false;
  context.pc = pc;
  context.p = outer_p;
  context.r = outer_r;
  context.frame = frame;
}

}  // namespace dhpvm::vm
