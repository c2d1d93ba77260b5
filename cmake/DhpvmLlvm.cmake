# SPDX-License-Identifier: Apache-2.0
# LLVM 19 for the room `codegen`: the target dhpvm_llvm has its headers, as system headers, and its shared library.
find_package(LLVM 19.1 QUIET CONFIG PATHS /usr/lib/llvm-19)
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "LLVM 19 was not found. Install llvm-19-dev (`./dev packages build` does), or configure with "
                      "-DDHPVM_CODEGEN=OFF: programs are then interpreted.")
endif()
add_library(dhpvm_llvm INTERFACE)
target_include_directories(dhpvm_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(dhpvm_llvm INTERFACE ${LLVM_DEFINITIONS})
target_link_libraries(dhpvm_llvm INTERFACE LLVM)
