// SPDX-License-Identifier: Apache-2.0
#include "vm/tier.h"

#include <algorithm>
#include <utility>

#include "bytecode/control_flow.h"
#include "bytecode/loop_tree.h"
#include "bytecode/writer.h"
#include "vm/context.h"

namespace dhpvm::vm {
namespace {

using bytecode::Op;
using bytecode::Word;

// The most words of code that are compiled together, and those of a callee among them. Other callees are compiled when
// they are found hot themselves, which takes less than a millisecond; the code of a large unit comes late.
constexpr std::uint32_t kMaximumWords = 1500;
constexpr std::uint32_t kMaximumWordsOfCallee = 200;
// Functions with more words are compiled in parts; see in_parts().
constexpr std::uint32_t kLongFunction = 400;
// A call that still runs after its function's code has arrived is continued in code of its own after so many times the
// samples that make a function hot. They take a few milliseconds, and compiling takes a hundred; with less patience, it
// depended on the time that the first unit took whether a run asked the cache for another one.
constexpr std::uint64_t kPatience = 16;
// A function that compiled code calls in the interpreter counts as sampled each time that its calls add up to so many
// words.
constexpr std::uint32_t kWordsOfASample = 20'000;

// The loop header that the back-edge at `pc` leads to, in the function that starts at `code`.
std::optional<std::uint32_t> header_of(const Word* code, const Word* pc) {
  const auto op = static_cast<Op>(bytecode::op_of(*pc));
  const auto at = static_cast<std::int64_t>(pc - code);
  if (op == Op::kLoop) return static_cast<std::uint32_t>(at + bytecode::bc_of(*pc));
  if (op == Op::kForI32 || op == Op::kForI64) {
    return static_cast<std::uint32_t>(at + static_cast<std::int16_t>(bytecode::c_of(*pc)));
  }
  return std::nullopt;
}

}  // namespace

Tier::Tier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
           std::shared_ptr<CompileService> service)
    : linked_(std::move(linked)),
      options_(options),
      service_(std::move(service)),
      mailbox_(std::make_shared<Mailbox>()),
      functions_(linked_->functions().begin(), linked_->functions().end()),
      bodies_(functions_.size()),
      enters_(functions_.size()),
      states_(functions_.size()),
      samples_(functions_.size()),
      words_called_(functions_.size()) {}

Tier::~Tier() = default;

codegen::FunctionRequest Tier::new_request() {
  if (identity_ == nullptr) {
    identity_ =
        std::make_shared<std::vector<std::byte>>(bytecode::write_module(linked_->module(), {.strip = true}));
  }
  codegen::FunctionRequest request;
  request.module = &linked_->module();
  request.identity = *identity_;
  request.layout = runtime_layout();
  request.calls = runtime_calls();
  for (const LinkedFunction& function : functions_) request.stack_costs.push_back(function.stack_cost);
  return request;
}

Status Tier::compile_everything() {
  DHPVM_ASSIGN(codegen::CodeGenerator* const generator, service_->generator());
  codegen::FunctionRequest request = new_request();
  for (std::uint32_t index = 0; index < functions_.size(); ++index) request.functions.push_back(index);
  DHPVM_ASSIGN(auto code, generator->compile(request));
  mailbox_->finished.push_back({std::move(request.functions), {}, std::move(code)});
  install();
  return {};
}

// Whether the loops and the body of the function are compiled apart: it is probably called once.
bool Tier::in_parts(std::uint32_t function) const {
  const bytecode::Function& source = linked_->module().functions[function];
  return source.code_size > kLongFunction || (source.exported && linked_->module().name_of(source) == "main");
}

// The word at which the outermost loop around `word` begins, or kNoIndex outside of loops.
std::uint32_t Tier::loop_around(std::uint32_t function, std::uint32_t word) {
  const bytecode::Function& source = linked_->module().functions[function];
  const auto [place, is_new] = loops_around_.try_emplace(function, source.code_size, bytecode::kNoIndex);
  if (!is_new) return place->second[word];
  const std::vector<bytecode::CodeBlock> blocks = bytecode::find_blocks(linked_->module(), source);
  const bytecode::LoopTree loops(blocks);
  for (const std::uint32_t header : loops.outermost()) {
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      if (!loops.body(header)[block]) continue;
      std::fill(place->second.begin() + blocks[block].begin, place->second.begin() + blocks[block].end,
                blocks[header].begin);
    }
  }
  return place->second[word];
}

// The functions of a unit: `function` itself, unless only its loops are compiled, and the callees, breadth first, so
// that direct callees come first. Callees that are compiled already are included, so that every run of a program finds
// the same units in the cache.
std::vector<std::uint32_t> Tier::with_callees(std::uint32_t function, Part part) {
  const bytecode::Module& module = linked_->module();
  std::vector<std::uint32_t> found = {function};
  std::uint32_t words = module.functions[function].code_size;
  const auto add = [&](std::uint32_t callee) {
    const std::uint32_t more = module.functions[callee].code_size;
    if (more > kMaximumWordsOfCallee || words + more > kMaximumWords) return;
    if (std::ranges::find(found, callee) != found.end()) return;
    words += more;
    found.push_back(callee);
  };
  for (std::size_t next = 0; next < found.size(); ++next) {
    const bytecode::Function& caller = module.functions[found[next]];
    const Word* const code = module.code.data() + caller.code_offset;
    for (std::uint32_t pc = 0; pc < caller.code_size;) {
      const auto op = static_cast<Op>(bytecode::op_of(code[pc]));
      const std::uint32_t at = std::exchange(pc, pc + bytecode::info(op).words());
      if (next == 0 && part == Part::kLoops && loop_around(function, at) == bytecode::kNoIndex) continue;
      if (op == Op::kCall) add(bytecode::c_of(code[at]));
      if (op == Op::kCallInterface) {
        const auto interface = static_cast<std::uint32_t>(code[at + 1]);
        for (const bytecode::Type& type : module.types) {
          for (const bytecode::Implementation& implementation : type.implementations) {
            if (implementation.interface == interface)
              add(implementation.functions[bytecode::c_of(code[at])]);
          }
        }
      }
    }
  }
  if (part == Part::kLoops) found.erase(found.begin());
  return found;
}

// Compiles `function`. Its body is entered at the next call, and its loops are continued in when a sample finds it in
// one. The unit does not depend on the position of the sample: samples vary from run to run, and the cache must hit.
void Tier::request(std::uint32_t function, Part part) {
  codegen::FunctionRequest request = new_request();
  request.functions = with_callees(function, part);
  if (part != Part::kBody) {
    continued_[function] = nullptr;
    request.continued = {function};
  }
  for (const std::uint32_t together : request.functions) {
    if (states_[together] == State::kInterpreted) states_[together] = State::kRequested;
  }
  // The job keeps the module alive, but nothing of the isolate.
  auto job = [request = std::move(request), mailbox = mailbox_, linked = linked_,
              identity = identity_](codegen::CodeGenerator& generator) {
    auto code = generator.compile(request);
    const std::lock_guard lock(mailbox->mutex);
    mailbox->finished.push_back(
        {request.functions, request.continued, code.ok() ? std::move(code).value() : nullptr});
    mailbox->filled.store(true, std::memory_order_release);
  };
  if (options_.wait) {
    service_->run(job);
    install();
  } else {
    service_->add(std::move(job));
  }
}

void Tier::install() {
  std::vector<Finished> finished;
  {
    const std::lock_guard lock(mailbox_->mutex);
    finished.swap(mailbox_->finished);
    mailbox_->filled.store(false, std::memory_order_relaxed);
  }
  for (Finished& result : finished) {
    if (result.code == nullptr) {
      for (const std::uint32_t function : result.functions) {
        if (states_[function] == State::kRequested) states_[function] = State::kFailed;
      }
      continue;
    }
    for (const std::uint32_t function : result.functions) {
      if (states_[function] == State::kCompiled) continue;
      samples_[function] = 0;  // from here on they count samples in a call that does not return
      bodies_[function] = result.code->body(function);
      enters_[function] = result.code->enter(function);
      states_[function] = State::kCompiled;
      functions_[function].code = &kEnterNativeCode;
    }
    for (const std::uint32_t function : result.continued) continued_[function] = result.code.get();
    code_.push_back(std::move(result.code));
  }
}

void Tier::called(std::uint32_t function) {
  if (states_[function] != State::kInterpreted) return;
  words_called_[function] += linked_->module().functions[function].code_size;
  if (words_called_[function] < kWordsOfASample) return;
  words_called_[function] = 0;
  sample(linked_->functions()[function], linked_->functions()[function].code);
}

codegen::EnterFunction Tier::sample(const LinkedFunction& function, const Word* pc) {
  if (mailbox_->filled.load(std::memory_order_acquire)) install();
  const std::uint32_t index = function.index;
  const Word* const code = linked_->functions()[index].code;
  const std::optional<std::uint32_t> header = header_of(code, pc);
  if (in_parts(index)) {
    request_parts_if_hot(index, static_cast<std::uint32_t>(pc - code));
  } else {
    request_if_hot(index, header.has_value());
  }
  if (!header) return nullptr;
  const auto found = continued_.find(index);
  if (found == continued_.end() || found->second == nullptr) return nullptr;
  if (in_parts(index)) ++functions_in_parts_[index].entries[loop_around(index, *header)];
  return found->second->continuation(index, *header);
}

void Tier::request_if_hot(std::uint32_t function, bool at_loop) {
  const std::uint32_t samples = ++samples_[function];
  // Code that was compiled for a callee of another function has no entry for continuing: the callee runs in the
  // interpreter until it returns, which is mostly soon. Only a call that does not return gets a unit of its own.
  const bool is_stuck = at_loop && !continued_.contains(function) && states_[function] != State::kRequested;
  if ((states_[function] == State::kInterpreted && samples >= options_.threshold_samples) ||
      (is_stuck && samples >= kPatience * options_.threshold_samples))
    request(function, Part::kAll);
}

// Most of these functions are called once. So their loops are compiled first, and their bodies only if they turn out to
// be called again: a call enters each of its outermost loops once, and executes other code in its order.
void Tier::request_parts_if_hot(std::uint32_t function, std::uint32_t word) {
  FunctionInParts& parts = functions_in_parts_[function];
  const std::uint32_t loop = loop_around(function, word);
  if (loop != bytecode::kNoIndex) {
    ++parts.samples_in_loops;
  } else if (std::exchange(parts.last_outside, word) >= word) {
    ++parts.steps_back;
  }
  if (!continued_.contains(function) && parts.samples_in_loops >= options_.threshold_samples)
    request(function, Part::kLoops);
  const bool is_called_again =
      parts.steps_back >= options_.threshold_samples ||
      (loop != bytecode::kNoIndex && parts.entries[loop] >= options_.threshold_samples);
  if (is_called_again && states_[function] == State::kInterpreted) request(function, Part::kBody);
}

}  // namespace dhpvm::vm
