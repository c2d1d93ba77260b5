// SPDX-License-Identifier: Apache-2.0
#include "python/core/errors.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

// Lives as long as the process: exceptions are made until the interpreter ends.
PyObject* exception_maker = nullptr;

nb::list frames_of(const dhpvm_error* error) {
  nb::list frames;
  for (std::size_t i = 0; i < dhpvm_error_frame_count(error); ++i) {
    dhpvm_frame frame{};
    frame.size = sizeof frame;
    if (dhpvm_error_frame(error, i, &frame) != DHPVM_OK) break;
    frames.append(nb::make_tuple(frame.function, frame.file, frame.line));
  }
  return frames;
}

}  // namespace

void Failure::raise(dhpvm_code code) const {
  try {
    const char* const message = error_ != nullptr ? dhpvm_error_message(error_) : dhpvm_code_text(code);
    const char* const text = error_ != nullptr ? dhpvm_error_text(error_) : message;
    const nb::object exception = nb::handle(exception_maker)(
        code, error_ != nullptr && dhpvm_error_is_trap(error_) != 0, message, text, frames_of(error_));
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

void set_exception_maker(nb::object maker) {
  Py_XDECREF(exception_maker);
  exception_maker = maker.release().ptr();
}

}  // namespace dhpvm::python
