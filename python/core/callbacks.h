// SPDX-License-Identifier: Apache-2.0
// Functions of Python that programs call, as `extern fn log(text: str);` declares them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "python/core/errors.h"

namespace dhpvm::python {

// Defines a host function of the engine. `results` are descriptions of parameters, as python/dhpvm/signature.py makes
// them. The callable lives as long as the engine needs it.
void define_callback(dhpvm_engine* engine, const std::string& name, const std::string& signature,
                     nanobind::object callable, const nanobind::list& results);

// `maker(bytes, kind, shape, is_read_only)` returns the array that a callable is given.
void set_callback_array_maker(nanobind::object maker);

// An exception that ends a call of a program passes through as it is. It is this thread's until the next call begins.
void forget_callback_exception();
// Sets it as Python's, if this failure comes from it.
bool restore_callback_exception(const Failure& failure);

}  // namespace dhpvm::python
