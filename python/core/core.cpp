// SPDX-License-Identifier: Apache-2.0
// The compiled part of the Python package: what must be fast, and what must not hold the interpreter lock.
#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include "python/core/call.h"
#include "python/core/callbacks.h"
#include "python/core/errors.h"
#include "python/core/machine.h"
#include "python/core/objects.h"
#include "python/core/progress.h"

NB_MODULE(_core, module) {
  if (dhpvm_abi_version() < DHPVM_ABI_VERSION)
    throw nanobind::import_error("libdhpvm is older than this package: install both of one version");
  // The engine, its programs and the functions of their caller live as long as the process.
  nanobind::set_leak_warnings(false);
  dhpvm::python::ForkCount::watch();
  dhpvm::python::bind_machine(module);
  dhpvm::python::bind_objects(module);
  dhpvm::python::bind_calls(module);
  module.def("library_path", [] {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(&dhpvm_version), &info) == 0) return "";
    return info.dli_fname;
  });
  module.def("set_exception_maker", &dhpvm::python::set_exception_maker);
  module.def("set_held_maker", &dhpvm::python::set_held_maker);
  module.def("set_array_maker", &dhpvm::python::set_array_maker);
  module.def("set_callback_array_maker", &dhpvm::python::set_callback_array_maker);
  module.def("set_list_maker", &dhpvm::python::set_list_maker);
  module.def("set_progress_listener", &dhpvm::python::set_progress_listener, nanobind::arg("listener").none(),
             nanobind::arg("interval_ns"));
  module.def("set_tensor_maker", &dhpvm::python::set_tensor_maker);
}
