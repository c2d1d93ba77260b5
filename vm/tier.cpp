// SPDX-License-Identifier: Apache-2.0
#include "vm/tier.h"

#include <algorithm>
#include <utility>

#include "bytecode/writer.h"
#include "vm/context.h"

namespace dhpvm::vm {
namespace {

using bytecode::Op;
using bytecode::Word;

// The most functions, and words of code in them, that are compiled together: beyond that, callees are compiled later.
constexpr std::size_t kMaximumFunctions = 64;
constexpr std::uint32_t kMaximumWords = 6000;
// A call that still runs after its function's code has arrived is continued in code of its own after so many times the
// samples that make a function hot. They take a few milliseconds, and compiling takes a hundred; with less patience, it
// depended on the time that the first unit took whether a run asked the cache for another one.
constexpr std::uint64_t kPatience = 16;
// So many calls from compiled code count as a sample: each takes the interpreter some 50 ns.
constexpr std::uint32_t kCallsOfASample = 1024;

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
      calls_(functions_.size()) {}

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

// `function` and its callees, breadth first, so that direct callees come first. Callees that are compiled already are
// included, so that every run of a program finds the same units in the cache.
std::vector<std::uint32_t> Tier::with_callees(std::uint32_t function) const {
  const bytecode::Module& module = linked_->module();
  std::vector<std::uint32_t> found = {function};
  std::uint32_t words = module.functions[function].code_size;
  const auto add = [&](std::uint32_t callee) {
    if (found.size() >= kMaximumFunctions) return;
    if (std::ranges::find(found, callee) != found.end()) return;
    if (words + module.functions[callee].code_size > kMaximumWords) return;
    words += module.functions[callee].code_size;
    found.push_back(callee);
  };
  for (std::size_t next = 0; next < found.size(); ++next) {
    const bytecode::Function& caller = module.functions[found[next]];
    const Word* const code = module.code.data() + caller.code_offset;
    for (std::uint32_t pc = 0; pc < caller.code_size;) {
      const auto op = static_cast<Op>(bytecode::op_of(code[pc]));
      if (op == Op::kCall) add(bytecode::c_of(code[pc]));
      if (op == Op::kCallInterface) {
        const auto interface = static_cast<std::uint32_t>(code[pc + 1]);
        for (const bytecode::Type& type : module.types) {
          for (const bytecode::Implementation& implementation : type.implementations) {
            if (implementation.interface == interface)
              add(implementation.functions[bytecode::c_of(code[pc])]);
          }
        }
      }
      pc += bytecode::info(op).words();
    }
  }
  return found;
}

// Compiles `function`. The code is entered at the function's next call, or continued in when a sample finds it in one
// of its loops. The unit does not depend on the position of the sample: samples vary from run to run, and the cache
// must hit.
void Tier::request(std::uint32_t function) {
  continued_[function] = nullptr;
  codegen::FunctionRequest request = new_request();
  request.functions = with_callees(function);
  request.continued = {function};
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
  if (states_[function] != State::kInterpreted || ++calls_[function] % kCallsOfASample != 0) return;
  sample(linked_->functions()[function], linked_->functions()[function].code);
}

codegen::EnterFunction Tier::sample(const LinkedFunction& function, const Word* pc) {
  if (mailbox_->filled.load(std::memory_order_acquire)) install();
  const std::uint32_t index = function.index;
  const Word* const code = linked_->functions()[index].code;
  const std::optional<std::uint32_t> offset = header_of(code, pc);
  const std::uint32_t samples = ++samples_[index];
  // Code that was compiled for a callee of another function has no entry for continuing: the callee runs in the
  // interpreter until it returns, which is mostly soon. Only a call that does not return gets a unit of its own.
  const bool is_stuck = offset && !continued_.contains(index) && states_[index] != State::kRequested;
  if ((states_[index] == State::kInterpreted && samples >= options_.threshold_samples) ||
      (is_stuck && samples >= kPatience * options_.threshold_samples))
    request(index);
  if (!offset) return nullptr;
  const auto found = continued_.find(index);
  return found == continued_.end() || found->second == nullptr ? nullptr
                                                               : found->second->continuation(index, *offset);
}

}  // namespace dhpvm::vm
