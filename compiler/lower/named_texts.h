// SPDX-License-Identifier: Apache-2.0
// Named texts that are only used as a part of the text that the next statement joins, such as `word` here:
//
//     let word = "item" + str(i);
//     parts[i] = word + ";";
//
// They are not created: the use joins their parts instead.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler {

// Maps a local to the concatenation that is its value.
using NamedTexts = std::unordered_map<const hir::Local*, const hir::Expr*>;

// Whether the expression converts a number to text.
bool is_number_text(const hir::Expr& e);

// Adds the named texts of a function's body. `assigned`: locals that are assigned after their declaration.
void find_named_texts(const std::vector<hir::Stmt*>& body,
                      const std::unordered_set<const hir::Local*>& assigned, NamedTexts& found);

}  // namespace dhpvm::compiler
