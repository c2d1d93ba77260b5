// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/tbaa.h"

#include <string>

namespace dhpvm::codegen {

llvm::MDNode* Tbaa::tag(Access access) {
  llvm::MDNode*& tag = tags_[{access.family, access.part}];
  if (tag == nullptr) {
    const std::string name = std::to_string(access.family) + "." + std::to_string(access.part);
    llvm::MDNode* const type = builder_.createTBAAScalarTypeNode(name, root_);
    tag = builder_.createTBAAStructTagNode(type, type, 0);
  }
  return tag;
}

}  // namespace dhpvm::codegen
