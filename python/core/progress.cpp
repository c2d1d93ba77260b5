// SPDX-License-Identifier: Apache-2.0
#include "python/core/progress.h"

#include <utility>

#include "python/core/errors.h"
#include "python/core/stable.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

// Guarded by the interpreter lock. The version counts the listeners so far.
PyObject* listener = nullptr;
std::int64_t interval = 0;
unsigned version = 0;

thread_local PyObject* raised = nullptr;
thread_local Machine* told_of = nullptr;  // while the listener runs

// While the listener is told of a loop of this machine.
class Telling {
 public:
  explicit Telling(Machine& machine) {
    told_of = &machine;
    machine.is_telling = true;
  }
  ~Telling() { std::exchange(told_of, nullptr)->is_telling = false; }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
};

void tell(void* user, const dhpvm_progress* progress) {
  if (Py_IsInitialized() == 0) return;
  Machine& machine = *static_cast<Machine*>(user);
  const nb::gil_scoped_acquire lock;
  // Loops of other programs that the listener itself runs are not told of: that would have no end.
  if (listener == nullptr || raised != nullptr || told_of != nullptr) return;
  try {
    const Telling telling(machine);
    const nb::object called = nb::borrow(listener);
    called(progress->loop, progress->done, progress->total, static_cast<double>(progress->elapsed_ns) * 1e-9,
           progress->has_ended != 0);
  } catch (nb::python_error& error) {
    raised = nb::borrow(error.value()).release().ptr();
    if (const nb::object traceback = error.traceback(); traceback.is_valid())
      PyException_SetTraceback(raised, traceback.ptr());
    (void)dhpvm_isolate_interrupt(machine.isolate());
  }
}

}  // namespace

void set_progress_listener(nb::object given, std::int64_t interval_ns) {
  PyObject* const former = std::exchange(listener, given.is_none() ? nullptr : given.release().ptr());
  interval = interval_ns;
  ++version;
  Py_XDECREF(former);
}

void follow_progress(Machine& machine) {
  if (machine.progress_version == version) return;
  machine.progress_version = version;
  Failure failure;
  failure.check(dhpvm_isolate_set_progress(machine.isolate(), listener == nullptr ? nullptr : &tell, &machine,
                                           interval, failure.out()));
}

void forget_progress_exception() { Py_CLEAR(raised); }
bool has_progress_exception() { return raised != nullptr; }

bool restore_progress_exception() {
  if (raised == nullptr) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
  forget_progress_exception();
  return true;
}

}  // namespace dhpvm::python
