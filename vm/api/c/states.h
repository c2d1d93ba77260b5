// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dhpvm/dhpvm.h"
#include "vm/api/c/entry.h"
#include "vm/api/state.h"

namespace dhpvm::c {

struct ErrorState {
  Error error;
  std::string message;  // with those of its causes
  std::string text;
};

// Memory of the host that a program may use for the lifetime of this object.
struct LentMemory {
  dhpvm::Object array;  // keeps the isolate, which the loan must not outlive
  vm::Loan loan;
  // Declared before the loan, and so released after it: the program cannot reach the memory any more.
  std::shared_ptr<ReleasedUser> owner;

  LentMemory(dhpvm::Object object, vm::Loan lent, std::shared_ptr<ReleasedUser> user)
      : array(std::move(object)), loan(std::move(lent)), owner(std::move(user)) {}
  ~LentMemory() { loan.end(); }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
};

struct GivenRecord;  // in fields.cpp

struct ObjectHandle {
  dhpvm::Object object;
  std::shared_ptr<LentMemory> lent = {};     // null: the program's own
  std::shared_ptr<GivenRecord> record = {};  // the last record that the host has read from a field
};

// Objects that another thread has released: the isolate's own thread destroys them.
class ReturnedObjects {
 public:
  void add(dhpvm::Object object, std::shared_ptr<LentMemory> lent) {
    const std::lock_guard lock(mutex_);
    objects_.push_back({.object = std::move(object), .lent = std::move(lent)});
  }
  void let_go() {
    std::vector<ObjectHandle> gone;
    const std::lock_guard lock(mutex_);
    gone.swap(objects_);
  }

 private:
  std::mutex mutex_;
  std::vector<ObjectHandle> objects_;
};

struct IsolateHandle {
  // Also held by a run of main, during which the handle may be freed.
  std::shared_ptr<Isolate> isolate;
  std::shared_ptr<ReturnedObjects> returned = std::make_shared<ReturnedObjects>();
};

// One value of a signature.
struct SignatureValue {
  dhpvm_kind kind = DHPVM_NULL;
  detail::HostType type = {};
  unsigned slot = 0;   // in its window
  unsigned lanes = 1;  // of arrays: numbers in an element
};

struct FunctionHandle {
  std::shared_ptr<const detail::Target> target;
  std::string signature;
  std::vector<SignatureValue> parameters;
  std::vector<SignatureValue> results;
  bool gives_numbers = false;      // and bools alone: nothing can fail after the call has ended
  std::vector<std::string> texts;  // by result
  unsigned active = 0;             // active calls; the last of them removes a handle that was freed meanwhile
  bool freed = false;
};

// X(handle, object, kind, name)
#define DHPVM_HANDLES(X)                                     \
  X(dhpvm_engine, Engine, kEngine, "an engine")              \
  X(dhpvm_module, Module, kModule, "a module")               \
  X(dhpvm_isolate, IsolateHandle, kIsolate, "an isolate")    \
  X(dhpvm_function, FunctionHandle, kFunction, "a function") \
  X(dhpvm_object, ObjectHandle, kObject, "an object")        \
  X(dhpvm_worker, Worker, kWorker, "a worker")               \
  X(dhpvm_error, ErrorState, kError, "an error")

#define X(handle, object, kind, name)                     \
  template <>                                             \
  struct HandleTraits<handle> {                           \
    using Object = object;                                \
    static constexpr HandleKind kKind = HandleKind::kind; \
    static constexpr const char* kName = name;            \
  };
DHPVM_HANDLES(X)
#undef X

}  // namespace dhpvm::c
