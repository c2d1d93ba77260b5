// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/linker.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <system_error>

#include "codegen/host/guard.h"
#include "codegen/host/llvm_error.h"
#include "codegen/host/load_watch.h"
#include "codegen/host/perf_map.h"

namespace dhpvm::codegen {

using llvm::orc::ExecutionSession;

// ORC's session. Every object gets a name space (JITDylib) of its own, so that two versions of a function can
// be loaded at once and each goes alone.
class Linker::Session {
 public:
  Session(std::unique_ptr<llvm::orc::ExecutorProcessControl> process, std::unique_ptr<SymbolTable> symbols,
          const LinkerOptions& options)
      : permanent_(options.debugger || options.profiler),
        symbols_(std::move(symbols)),
        session_(std::move(process)),
        layer_(session_) {
    session_.setErrorReporter([this](llvm::Error failure) {
      const std::lock_guard lock(mutex_);
      failure = llvm::handleErrors(
          std::move(failure), [this](std::unique_ptr<llvm::ECError> system) -> llvm::Error {
            no_memory_ = no_memory_ || system->convertToErrorCode() == std::errc::not_enough_memory;
            return llvm::Error(std::move(system));
          });
      reported_ += (reported_.empty() ? "" : "; ") + llvm::toString(std::move(failure));
    });
    // LLVM would look this function up by name, which fails where its library was loaded for us alone.
    if (options.debugger) {
      layer_.addPlugin(std::make_shared<llvm::orc::DebugObjectManagerPlugin>(
          session_,
          std::make_unique<llvm::orc::EPCDebugObjectRegistrar>(
              session_, llvm::orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper)),
          /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
    }
  }
  ~Session() { llvm::consumeError(session_.endSession()); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ExecutionSession& orc() { return session_; }
  llvm::orc::ObjectLinkingLayer& layer() { return layer_; }
  const void* find(std::string_view name) { return symbols_->find(name); }
  SymbolTable& symbols() { return *symbols_; }
  llvm::orc::JITDylib& new_library() {
    return session_.createBareJITDylib("object" +
                                       std::to_string(count_.fetch_add(1, std::memory_order_relaxed)));
  }

  // Whether code must stay where it is until the process ends.
  bool permanent() const { return permanent_.load(std::memory_order_relaxed); }
  void make_permanent() { permanent_.store(true, std::memory_order_relaxed); }
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  void break_down() { broken_.store(true, std::memory_order_relaxed); }

  // ORC's background report about a failed load, as an error that begins with `text`. When several loads
  // fail at once, the report may be about another one.
  Error take_reported(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const ErrorCode code = std::exchange(no_memory_, false) ? ErrorCode::kOutOfMemory : ErrorCode::kInternal;
    return error(code, "{} {}", text, std::exchange(reported_, {}));
  }

 private:
  std::atomic<bool> permanent_;
  std::atomic<bool> broken_ = false;
  std::unique_ptr<SymbolTable> symbols_;
  std::mutex mutex_;
  std::string reported_;
  bool no_memory_ = false;
  std::atomic<std::uint64_t> count_ = 0;
  ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
};

class LoadedCode::State {
 public:
  explicit State(std::shared_ptr<Linker::Session> session)
      : session_(std::move(session)), library_(session_->new_library()) {}
  ~State() {
    if (!session_->permanent()) llvm::consumeError(session_->orc().removeJITDylib(library_));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status load(std::unique_ptr<llvm::MemoryBuffer> object, llvm::orc::SymbolMap outside);
  void* address(std::string_view name) const {
    const auto found = addresses_.find(name);
    return found == addresses_.end() ? nullptr : found->second;
  }

 private:
  std::shared_ptr<Linker::Session> session_;
  llvm::orc::JITDylib& library_;
  std::map<std::string, void*, std::less<>> addresses_;
};

Status LoadedCode::State::load(std::unique_ptr<llvm::MemoryBuffer> object, llvm::orc::SymbolMap outside) {
  constexpr std::string_view kDoing = "linking native code";
  ExecutionSession& orc = session_->orc();
  auto interface = llvm::orc::getObjectFileInterface(orc, object->getMemBufferRef());
  if (!interface) return from_llvm(interface.takeError(), kDoing);
  llvm::orc::SymbolLookupSet wanted;
  for (const auto& symbol : interface->SymbolFlags) wanted.add(symbol.first);
  if (auto failure = library_.define(llvm::orc::absoluteSymbols(std::move(outside)))) {
    return from_llvm(std::move(failure), kDoing);
  }
  if (auto failure = session_->layer().add(library_, std::move(object), std::move(*interface))) {
    return from_llvm(std::move(failure), kDoing);
  }
  auto found = orc.lookup(llvm::orc::makeJITDylibSearchOrder(&library_), std::move(wanted));
  if (!found) {
    return session_->take_reported(from_llvm(found.takeError(), kDoing).message());
  }
  for (const auto& [name, definition] : *found) {
    addresses_.emplace((*name).str(), definition.getAddress().toPtr<void*>());
  }
  return {};
}

LoadedCode::LoadedCode(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedCode::~LoadedCode() = default;
LoadedCode::LoadedCode(LoadedCode&&) noexcept = default;
LoadedCode& LoadedCode::operator=(LoadedCode&&) noexcept = default;

void* LoadedCode::address(std::string_view name) const { return state_->address(name); }

namespace {

// The names that `object` uses and does not define.
llvm::Expected<std::vector<std::string>> undefined_symbols(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) return file.takeError();
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    auto name = symbol.getName();
    if (!name) return name.takeError();
    // The first entry of an ELF symbol table has no name; the offset table is made by JITLink.
    if (!name->empty() && *name != "_GLOBAL_OFFSET_TABLE_") names.push_back(name->str());
  }
  return names;
}

}  // namespace

Linker::Linker(std::shared_ptr<Session> session) : session_(std::move(session)) {}
Linker::~Linker() = default;

SymbolTable& Linker::symbols() { return session_->symbols(); }

Result<std::unique_ptr<Linker>> Linker::create(std::unique_ptr<SymbolTable> symbols,
                                               const LinkerOptions& options) {
  // Linking takes place on the thread that asks for it, which is a compile thread already.
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!process) return from_llvm(process.takeError(), "starting the linker for native code");
  auto session = std::make_unique<Session>(std::move(*process), std::move(symbols), options);
  if (options.profiler) {
    DHPVM_ASSIGN(LoadWatch::Told told, perf_map());
    session->layer().addPlugin(std::make_shared<LoadWatch>(std::move(told)));
  }
  if (options.loaded) {
    session->layer().addPlugin(std::make_shared<LoadWatch>(
        [loaded = options.loaded](std::span<const LoadWatch::LoadedFunction> functions) {
          for (const LoadWatch::LoadedFunction& function : functions)
            loaded(function.begin, function.size, function.name);
        }));
  }
  // A session that is permanent, or becomes so, is not destroyed.
  const auto destroy = [](Session* ended) {
    if (!ended->permanent()) delete ended;
  };
  return std::unique_ptr<Linker>(new Linker(std::shared_ptr<Session>(session.release(), destroy)));
}

Result<LoadedCode> Linker::load(std::unique_ptr<llvm::MemoryBuffer> object,
                                std::span<const NamedAddress> symbols) {
  if (session_->broken()) {
    return error(ErrorCode::kOutOfMemory,
                 "native code cannot be loaded any more: memory ran out while some was loaded");
  }
  auto undefined = undefined_symbols(object->getMemBufferRef());
  if (!undefined) return from_llvm(undefined.takeError(), "reading an object file");
  llvm::orc::SymbolMap outside;
  std::string missing;
  for (const std::string& name : *undefined) {
    const auto given = std::find_if(symbols.begin(), symbols.end(),
                                    [&](const NamedAddress& symbol) { return symbol.name == name; });
    const void* address = given != symbols.end() ? given->address : session_->find(name);
    if (address == nullptr) missing += (missing.empty() ? "" : ", ") + name;
    outside[session_->orc().intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                             llvm::JITSymbolFlags::Exported};
  }
  if (!missing.empty()) {
    return error(ErrorCode::kLink, "compiled code calls what the runtime does not define: {}", missing);
  }
  auto code = std::make_unique<LoadedCode::State>(session_);
  bool abandoned = false;
  Status status = guarded([&] { return code->load(std::move(object), std::move(outside)); }, &abandoned);
  if (abandoned) {
    // The frames that are gone may have held the session's locks.
    session_->break_down();
    session_->make_permanent();
  }
  DHPVM_TRY(std::move(status));
  return LoadedCode(std::move(code));
}

}  // namespace dhpvm::codegen
