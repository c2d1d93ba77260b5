// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/linker.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "codegen/host/llvm_error.h"

namespace dhpvm::codegen {

using llvm::orc::ExecutionSession;

// ORC's session. Every object gets a name space (JITDylib) of its own, so that two versions of a function can
// be loaded at once and each goes alone.
class Linker::Session {
 public:
  Session(std::unique_ptr<llvm::orc::ExecutorProcessControl> process, std::unique_ptr<SymbolTable> symbols)
      : symbols_(std::move(symbols)), session_(std::move(process)), layer_(session_) {
    session_.setErrorReporter([this](llvm::Error failure) {
      const std::lock_guard lock(mutex_);
      reported_ += (reported_.empty() ? "" : "; ") + llvm::toString(std::move(failure));
    });
  }
  ~Session() { llvm::consumeError(session_.endSession()); }

  ExecutionSession& orc() { return session_; }
  llvm::orc::ObjectLinkingLayer& layer() { return layer_; }
  const void* find(std::string_view name) { return symbols_->find(name); }
  std::string next_name() {
    return "object" + std::to_string(count_.fetch_add(1, std::memory_order_relaxed));
  }

  // What ORC said in the background about a failed load. With several loads failing at once it may be of
  // another one.
  std::string take_reported() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reported_, {});
  }

 private:
  std::unique_ptr<SymbolTable> symbols_;
  std::mutex mutex_;
  std::string reported_;
  std::atomic<std::uint64_t> count_ = 0;
  ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
};

class LoadedCode::State {
 public:
  State(std::shared_ptr<Linker::Session> session, llvm::orc::JITDylib& library)
      : session_(std::move(session)), library_(library) {}
  ~State() { llvm::consumeError(session_->orc().removeJITDylib(library_)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  llvm::orc::JITDylib& library() { return library_; }
  std::map<std::string, void*, std::less<>>& addresses() { return addresses_; }

 private:
  std::shared_ptr<Linker::Session> session_;
  llvm::orc::JITDylib& library_;
  std::map<std::string, void*, std::less<>> addresses_;
};

LoadedCode::LoadedCode(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedCode::~LoadedCode() = default;
LoadedCode::LoadedCode(LoadedCode&&) noexcept = default;
LoadedCode& LoadedCode::operator=(LoadedCode&&) noexcept = default;

void* LoadedCode::address(std::string_view name) const {
  const auto& addresses = state_->addresses();
  const auto found = addresses.find(name);
  return found == addresses.end() ? nullptr : found->second;
}

namespace {

// The names that `object` uses and does not define.
Result<std::vector<std::string>> undefined_symbols(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) return from_llvm(file.takeError(), "reading an object file");
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return from_llvm(flags.takeError(), "reading an object file");
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    auto name = symbol.getName();
    if (!name) return from_llvm(name.takeError(), "reading an object file");
    // The first entry of an ELF symbol table has no name; the offset table is made by JITLink.
    if (!name->empty() && *name != "_GLOBAL_OFFSET_TABLE_") names.push_back(name->str());
  }
  return names;
}

}  // namespace

Linker::Linker(std::shared_ptr<Session> session) : session_(std::move(session)) {}
Linker::~Linker() = default;

Result<std::unique_ptr<Linker>> Linker::create(std::unique_ptr<SymbolTable> symbols) {
  // Linking takes place on the thread that asks for it, which is a compile thread already.
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!process) return from_llvm(process.takeError(), "starting the linker for native code");
  return std::unique_ptr<Linker>(
      new Linker(std::make_shared<Session>(std::move(*process), std::move(symbols))));
}

Result<LoadedCode> Linker::load(std::unique_ptr<llvm::MemoryBuffer> object,
                                std::span<const NamedAddress> symbols) {
  ExecutionSession& orc = session_->orc();
  DHPVM_ASSIGN(const std::vector<std::string> undefined, undefined_symbols(object->getMemBufferRef()));
  llvm::orc::SymbolMap outside;
  std::string missing;
  for (const std::string& name : undefined) {
    const auto given = std::find_if(symbols.begin(), symbols.end(),
                                    [&](const NamedAddress& symbol) { return symbol.name == name; });
    const void* address = given != symbols.end() ? given->address : session_->find(name);
    if (address == nullptr) missing += (missing.empty() ? "" : ", ") + name;
    outside[orc.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  }
  if (!missing.empty()) {
    return error(ErrorCode::kLink, "compiled code calls what the runtime does not define: {}", missing);
  }

  auto interface = llvm::orc::getObjectFileInterface(orc, object->getMemBufferRef());
  if (!interface) return from_llvm(interface.takeError(), "reading an object file");
  llvm::orc::SymbolLookupSet wanted;
  for (const auto& symbol : interface->SymbolFlags) wanted.add(symbol.first);

  auto code = std::make_unique<LoadedCode::State>(session_, orc.createBareJITDylib(session_->next_name()));
  llvm::orc::JITDylib& library = code->library();
  if (auto failure = library.define(llvm::orc::absoluteSymbols(std::move(outside)))) {
    return from_llvm(std::move(failure), "linking native code");
  }
  if (auto failure = session_->layer().add(library, std::move(object), std::move(*interface))) {
    return from_llvm(std::move(failure), "linking native code");
  }
  auto found = orc.lookup(llvm::orc::makeJITDylibSearchOrder(&library), std::move(wanted));
  if (!found) {
    Error failure = from_llvm(found.takeError(), "linking native code");
    return error(ErrorCode::kInternal, "{} {}", failure.message(), session_->take_reported());
  }
  for (const auto& [name, definition] : *found) {
    code->addresses().emplace((*name).str(), definition.getAddress().toPtr<void*>());
  }
  return LoadedCode(std::move(code));
}

}  // namespace dhpvm::codegen
