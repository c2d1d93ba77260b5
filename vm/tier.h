// SPDX-License-Identifier: Apache-2.0
// Tiering: decides which functions of an isolate are compiled, and when.
//
// Every time the interpreter's ticks run out, the function and loop it is in get a sample.
// A function with enough samples is compiled on a background thread while the interpreter
// goes on. Finished code is installed at the next tick: for calls by exchanging the first
// instruction, for a running loop by continuing in it (on-stack replacement).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "codegen/codegen.h"
#include "vm/compile_service.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::vm {

struct Context;

class Tier {
 public:
  Tier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
       std::shared_ptr<CompileService> service);
  ~Tier();
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  // The functions of the module, for this isolate: `code` of compiled ones leads to kEnterNativeOp.
  const LinkedFunction* functions() const { return functions_.data(); }
  // By function: its compiled body, or null.
  const void* const* bodies() const { return bodies_.data(); }
  codegen::EnterFunction enter(std::uint32_t function) const { return enters_[function]; }

  // Compiles all functions, for --jit=eager. The program has not started.
  Status compile_everything();
  // The interpreter has used up its ticks at the instruction at `pc` of `function`. Returns the code to continue in, if
  // that is a back-edge of a loop that has some.
  codegen::EnterFunction sample(const LinkedFunction& function, const bytecode::Word* pc);
  // Compiled code calls the function in the interpreter. The ticks of a function without loops run out in its caller,
  // so that no sample finds it; its calls are counted instead.
  void called(std::uint32_t function);

 private:
  struct Finished {
    std::vector<std::uint32_t> functions;
    std::vector<std::uint32_t> continued;
    std::unique_ptr<codegen::CompiledFunctions> code;  // null: compiling failed, and is not tried again
  };
  // Where the background thread stores its results, perhaps after the isolate's end.
  struct Mailbox {
    std::mutex mutex;
    std::vector<Finished> finished;
    std::atomic<bool> filled{false};
  };

  // The parts of a function that a unit contains.
  enum class Part : std::uint8_t { kAll, kBody, kLoops };
  // A function whose loops and whose body are compiled apart.
  struct FunctionInParts {
    std::map<std::uint32_t, std::uint32_t> entries;  // by header of an outermost loop: continuations in it
    std::uint32_t samples_in_loops = 0;
    // Outside of loops: the word of the last sample, and the number of samples that were not behind the one before.
    std::uint32_t last_outside = 0;
    std::uint32_t steps_back = 0;
  };

  codegen::FunctionRequest new_request();
  void request(std::uint32_t function, Part part);
  std::vector<std::uint32_t> with_callees(std::uint32_t function, Part part);
  bool in_parts(std::uint32_t function) const;
  std::uint32_t loop_around(std::uint32_t function, std::uint32_t word);
  void install();
  void request_if_hot(std::uint32_t function, bool at_loop);
  void request_parts_if_hot(std::uint32_t function, std::uint32_t word);

  std::shared_ptr<const LinkedModule> linked_;
  const JitOptions options_;
  std::shared_ptr<CompileService> service_;
  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<const std::vector<std::byte>> identity_;  // the module as a file; made on first need

  enum class State : std::uint8_t { kInterpreted, kRequested, kCompiled, kFailed };
  std::vector<LinkedFunction> functions_;
  std::vector<const void*> bodies_;
  std::vector<codegen::EnterFunction> enters_;
  std::vector<State> states_;
  std::vector<std::uint32_t> samples_;
  std::vector<std::uint32_t> words_called_;                      // from compiled code, since the last sample
  std::map<std::uint32_t, FunctionInParts> functions_in_parts_;  // those that samples have found
  std::map<std::uint32_t, std::vector<std::uint32_t>> loops_around_;  // by function and word; on first need
  std::map<std::uint32_t, const codegen::CompiledFunctions*> continued_;  // null: requested
  std::vector<std::unique_ptr<codegen::CompiledFunctions>> code_;         // kept until the isolate ends
};

// The virtual machine as compiled code sees it.
codegen::RuntimeLayout runtime_layout();
codegen::RuntimeCalls runtime_calls();

}  // namespace dhpvm::vm
