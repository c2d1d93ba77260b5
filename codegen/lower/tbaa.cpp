// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/tbaa.h"

#include <string>

namespace dhpvm::codegen {

llvm::MDNode* Tbaa::tag(Access access) {
  llvm::MDNode*& tag = tags_[{access.family, access.part}];
  if (tag == nullptr) {
    llvm::MDNode* const type = this->type(access);
    tag = builder_.createTBAAStructTagNode(type, type, 0);
  }
  return tag;
}

llvm::MDNode* Tbaa::type(Access access) {
  const std::string family = std::to_string(access.family);
  if (access.family != Access::kHandle) {
    return builder_.createTBAAScalarTypeNode(family + "." + std::to_string(access.part), root_);
  }
  llvm::MDNode* const handle = builder_.createTBAAScalarTypeNode(family, root_);
  if (access.part == Access::kAnyPart) return handle;
  return builder_.createTBAAScalarTypeNode(family + "." + std::to_string(access.part), handle);
}

}  // namespace dhpvm::codegen
