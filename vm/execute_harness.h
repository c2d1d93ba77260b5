// SPDX-License-Identifier: Apache-2.0
// Runs every module that the verifier accepts, within tight limits: the heart of the execution fuzzer, and of the test
// that replays its corpus.
#pragma once

#include <cstddef>
#include <span>

namespace dhpvm::vm {

// Reads, verifies, links and runs every function of the module in `file`, with arguments, limits and debug
// modes chosen from `file` itself. Ends the process if the heap is damaged afterwards or an error is an
// internal one. Returns whether the module was accepted.
bool execute(std::span<const std::byte> file);

}  // namespace dhpvm::vm
