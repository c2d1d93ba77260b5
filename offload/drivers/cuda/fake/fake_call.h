// SPDX-License-Identifier: Apache-2.0
// The common beginning of all functions of the fake driver.
#pragma once

#include <fmt/format.h>

#include "offload/drivers/cuda/fake/fake_state.h"

#define FAKE extern "C" __attribute__((visibility("default")))

// Every function is declared as in driver_api.h, so that a definition with other parameters does not compile.
namespace dhpvm::offload::cu {
#define X(member, symbol, parameters) FAKE Code symbol parameters;
DHPVM_CUDA_FUNCTIONS(X)
DHPVM_CUDA_GRAPH_FUNCTIONS(X)
#undef X
}  // namespace dhpvm::offload::cu

namespace dhpvm::offload::cu::fake {

// With the mutex held. Returns the code.
inline Code misuse(Code code) {
  ++state().counts.misuses;
  report(fmt::format("misuse: a call returns {}", static_cast<int>(code)));
  return code;
}

// With the mutex held. The code that a call of `symbol` returns before it examines its arguments.
inline Code begin_call(const char* symbol, bool needs_context) {
  State& all = state();
  ++all.counts.calls;
  if (in_host_function()) return misuse(CUDA_ERROR_NOT_PERMITTED);
  if (!all.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  for (auto fault = all.faults.begin(); fault != all.faults.end(); ++fault) {
    if (fault->symbol != symbol || fault->skip-- > 0) continue;
    const Code code = fault->code;
    all.faults.erase(fault);
    return code;
  }
  if (symbol == all.refused) return CUDA_ERROR_NOT_SUPPORTED;
  if (!needs_context) return CUDA_SUCCESS;
  if (current().empty()) return misuse(CUDA_ERROR_INVALID_CONTEXT);
  return current().back()->lost;
}

// Whether the module of the function is still loaded.
inline bool is_loaded(CUfunc_st* function) { return state().functions.contains(function); }

// Whether a call that releases something does nothing at all. Otherwise it releases even if the device is lost; the
// real driver needs the end of the context for that.
inline bool is_void(Code code) {
  return code == CUDA_ERROR_NOT_PERMITTED || code == CUDA_ERROR_NOT_INITIALIZED ||
         code == CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace dhpvm::offload::cu::fake

#define FAKE_RELEASE(symbol)                     \
  State& all = state();                          \
  std::unique_lock lock(all.mutex);              \
  const Code answer = begin_call(#symbol, true); \
  if (is_void(answer)) return answer

#define FAKE_CALL(symbol, needs_context) \
  State& all = state();                  \
  std::unique_lock lock(all.mutex);      \
  if (const Code code = begin_call(#symbol, needs_context); code != CUDA_SUCCESS) return code
