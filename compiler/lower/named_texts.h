// SPDX-License-Identifier: Apache-2.0
// Texts that have a name and are only a part of the text that the next statement joins, as `word` is here:
//
//     let word = "item" + str(i);
//     parts[i] = word + ";";
//
// They are not made: their parts are joined where the name stands.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler {

// By local: the concatenation that is its value.
using NamedTexts = std::unordered_map<const hir::Local*, const hir::Expr*>;

// Whether this makes text of a number.
bool is_number_text(const hir::Expr& e);

// Adds those of a function's body. `assigned`: locals that change after their declaration.
void find_named_texts(const std::vector<hir::Stmt*>& body,
                      const std::unordered_set<const hir::Local*>& assigned, NamedTexts& found);

}  // namespace dhpvm::compiler
