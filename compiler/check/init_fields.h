// SPDX-License-Identifier: Apache-2.0
// Tracks the fields that `init` has not assigned yet.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class InitFields : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void begin_init(FunctionInstance& instance);
  void end_init(Range range);
  void require_initialised(Range range, std::string_view use);

 private:
  std::string unassigned_names() const;
};

}  // namespace dhpvm::compiler
