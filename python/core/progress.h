// SPDX-License-Identifier: Apache-2.0
// Progress of long loops, for a listener of Python's.
#pragma once

#include <nanobind/nanobind.h>

#include "python/core/machine.h"

namespace dhpvm::python {

// `listener(loop, done, total, seconds, has_ended)` is called while loops of all programs run, at most once an interval
// each; None: nobody is.
void set_progress_listener(nanobind::object listener, std::int64_t interval_ns);

// Before a call of the program: it tells the listener that there is now.
void follow_progress(Machine& machine);

// An exception of the listener ends the call, and passes through it. It is this thread's until the next call begins.
void forget_progress_exception();
bool has_progress_exception();
// Sets it as Python's, if there is one.
bool restore_progress_exception();

}  // namespace dhpvm::python
