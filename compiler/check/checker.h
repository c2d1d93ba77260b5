// SPDX-License-Identifier: Apache-2.0
// The checker: from the syntax trees of a program to its checked form (hir.h). Resolves names, infers and
// checks types, instantiates generics, narrows nullable variables, proves parallel loops pure.
#pragma once

#include <cstdint>
#include <memory>

#include "compiler/check/observer.h"
#include "compiler/hir/hir.h"
#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

// The exports of the checked program: the functions of the root, or also objects (see host_objects.h).
enum class HostReach : std::uint8_t { kFunctions, kObjects };

// Null when the program is wrong; the diagnostics say why. `diagnostics.sources()` names the files.
std::unique_ptr<hir::Program> check(const ast::Program& source, Diagnostics& diagnostics,
                                    HostReach reach = HostReach::kFunctions);

// Checks programs with errors, too, even in their declarations. The result owns the types that `observer` receives.
// Only a program without errors may be lowered.
std::unique_ptr<hir::Program> check_observed(const ast::Program& source, Diagnostics& diagnostics,
                                             Observer& observer);

}  // namespace dhpvm::compiler
