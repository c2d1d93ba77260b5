// SPDX-License-Identifier: Apache-2.0
#include "bytecode/verifier.h"

#include "bytecode/verify_internal.h"

namespace dhpvm::bytecode {

Status verify(const Module& module) {
  DHPVM_TRY(verification::verify_types(module));
  const verification::Facts facts(module);
  verification::Budget budget(module.code.size());
  DHPVM_TRY(verification::verify_kernel_records(facts, budget));
  DHPVM_TRY(verification::verify_functions(facts, budget));
  return verification::verify_kernel_bodies(facts, budget);
}

}  // namespace dhpvm::bytecode
