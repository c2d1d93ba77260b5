// SPDX-License-Identifier: Apache-2.0
#include "gc/prompt_return.h"

#include "gc/poison.h"

#ifndef DHPVM_GC_ASAN
#include <mimalloc.h>
#endif

namespace dhpvm::gc {

#ifdef DHPVM_GC_ASAN
PromptReturn::PromptReturn() = default;
PromptReturn::~PromptReturn() = default;
#else
PromptReturn::PromptReturn() : delay_(mi_option_get(mi_option_decommit_delay)) {
  mi_option_set(mi_option_decommit_delay, 0);
}
PromptReturn::~PromptReturn() { mi_option_set(mi_option_decommit_delay, delay_); }
#endif

}  // namespace dhpvm::gc
