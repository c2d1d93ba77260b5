// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/host_compiler.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "base/error.h"
#include "codegen/host/emit.h"
#include "codegen/host/guard.h"

namespace dhpvm::codegen {
namespace {

// Takes about one percent of a compilation, and turns undefined behaviour of LLVM into an error.
Status verify(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!llvm::verifyModule(module, &stream)) return {};
  return error(ErrorCode::kInternal, "the LLVM IR of {} is invalid: {}", module.getName().str(),
               stream.str());
}

std::span<const std::byte> bytes_of(const llvm::MemoryBuffer& buffer) {
  return std::as_bytes(std::span(buffer.getBufferStart(), buffer.getBufferSize()));
}

}  // namespace

// The result of a compilation before loading.
struct HostCompiler::Object {
  std::unique_ptr<llvm::MemoryBuffer> file;
  CompileTimes times;
  std::string ir, assembly;
};

HostCompiler::HostCompiler(Target target, std::unique_ptr<Linker> linker, HostOptions options)
    : target_(std::move(target)), linker_(std::move(linker)), options_(std::move(options)) {}
HostCompiler::~HostCompiler() = default;

Result<std::unique_ptr<HostCompiler>> HostCompiler::create(std::string_view cpu,
                                                           std::unique_ptr<SymbolTable> symbols,
                                                           HostOptions options) {
  DHPVM_ASSIGN(Target target, Target::create(cpu));
  DHPVM_ASSIGN(std::unique_ptr<Linker> linker, Linker::create(std::move(symbols), options.linker));
  return std::unique_ptr<HostCompiler>(
      new HostCompiler(std::move(target), std::move(linker), std::move(options)));
}

IrModule HostCompiler::new_module(std::string_view name) const {
  IrModule ir;
  ir.context = std::make_unique<llvm::LLVMContext>();
  ir.module = std::make_unique<llvm::Module>(llvm::StringRef(name), *ir.context);
  target_.configure(*ir.module);
  return ir;
}

Result<LoadedCode> HostCompiler::compile(IrModule ir, Pipeline pipeline,
                                         std::span<const NamedAddress> symbols) {
  CompileRequest request;
  request.ir = std::move(ir);
  request.pipeline = pipeline;
  request.symbols = symbols;
  DHPVM_ASSIGN(Compiled compiled, compile(std::move(request)));
  return std::move(compiled.code);
}

Result<Compiled> HostCompiler::compile(CompileRequest request) {
  const std::string name = request.ir.module->getName().str();
  Result<Object> made = make_object(request);
  const auto begin = Tracer::Clock::now();
  std::size_t size = 0;
  const auto load = [&]() -> Result<LoadedCode> {
    if (!made.ok()) return std::move(made).error();
    size = made->file->getBufferSize();
    if (request.key != nullptr && options_.cache != nullptr) {
      options_.cache->store(*request.key, bytes_of(*made->file), request.metadata);
    }
    return linker_->load(bytes_of(*made->file), request.symbols);
  };
  Result<LoadedCode> code = load();
  if (!code.ok()) {
    const std::lock_guard lock(mutex_);
    ++stats_.failed;
    return std::move(code).error();
  }
  made->times.link_ms = phase(request.track, "link", name, begin);
  const std::lock_guard lock(mutex_);
  ++stats_.compiled;
  stats_.object_bytes += size;
  stats_.times.optimise_ms += made->times.optimise_ms;
  stats_.times.emit_ms += made->times.emit_ms;
  stats_.times.link_ms += made->times.link_ms;
  return Compiled{std::move(code).value(), made->times, size, std::move(made->ir), std::move(made->assembly)};
}

Result<HostCompiler::Object> HostCompiler::make_object(CompileRequest& request) {
  std::unique_ptr<llvm::TargetMachine> machine;
  Object object;
  bool abandoned = false;
  Status status = guarded(
      [&]() -> Status {
        DHPVM_ASSIGN(machine, take_machine());
        return make_object(request, *machine, object);
      },
      &abandoned);
  if (abandoned) {
    // Its state is unknown: leaked on purpose.
    static_cast<void>(machine.release());
    static_cast<void>(request.ir.module.release());
    static_cast<void>(request.ir.context.release());
  } else if (machine != nullptr) {
    give_back(std::move(machine));
  }
  DHPVM_TRY(std::move(status));
  return object;
}

Status HostCompiler::make_object(CompileRequest& request, llvm::TargetMachine& machine,
                                 Object& object) const {
  llvm::Module& module = *request.ir.module;
  const std::string name = module.getName().str();
  auto begin = Tracer::Clock::now();
  DHPVM_TRY(verify(module));
  target_.constrain(module, options_.linker.is_traceable());
  DHPVM_TRY(optimise(module, machine, request.pipeline));
  object.times.optimise_ms = phase(request.track, "optimise", name, begin);
  if (request.list_ir) {
    llvm::raw_string_ostream stream(object.ir);
    module.print(stream, nullptr);
  }
  if (request.list_assembly) {
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    DHPVM_ASSIGN(object.assembly, emit_assembly(*copy, machine, request.pipeline));
  }
  begin = Tracer::Clock::now();
  DHPVM_ASSIGN(object.file, emit_object(module, machine, request.pipeline));
  object.times.emit_ms = phase(request.track, "emit", name, begin);
  return {};
}

SymbolTable& HostCompiler::symbols() { return linker_->symbols(); }

HostStats HostCompiler::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Result<std::unique_ptr<llvm::TargetMachine>> HostCompiler::take_machine() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(idle_.back());
      idle_.pop_back();
      return machine;
    }
  }
  return target_.new_machine();
}

void HostCompiler::give_back(std::unique_ptr<llvm::TargetMachine> machine) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(machine));
}

double HostCompiler::phase(std::uint32_t track, std::string_view what, std::string_view module,
                           Tracer::Clock::time_point begin) const {
  const auto end = Tracer::Clock::now();
  if (options_.tracer != nullptr)
    options_.tracer->slice(track, fmt::format("{} {}", what, module), begin, end);
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace dhpvm::codegen
