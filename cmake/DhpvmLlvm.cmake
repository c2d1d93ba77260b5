# SPDX-License-Identifier: Apache-2.0
# LLVM 19 for the room `codegen`: the target dhpvm_llvm has its headers, as system headers, and its code: the shared library, or
# LLVM's archives in targets whose property DHPVM_STATIC_LLVM is on.
#
# The archives are for the library that the virtual machine loads. LLVM's shared library has twenty targets and 300,000
# addresses that are adjusted when it is loaded; two targets alone load in half the time, and are spread over fewer pages.
find_package(LLVM 19.1 QUIET CONFIG PATHS /usr/lib/llvm-19)
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "LLVM 19 was not found. Install llvm-19-dev (`./dev packages build` does), or configure with "
                      "-DDHPVM_CODEGEN=OFF: programs are then interpreted.")
endif()
add_library(dhpvm_llvm INTERFACE)
target_include_directories(dhpvm_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(dhpvm_llvm INTERFACE ${LLVM_DEFINITIONS})

set(dhpvm_llvm_archives "")
if(DHPVM_STATIC_LLVM)
  execute_process(
    COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} "${LLVM_TOOLS_BINARY_DIR}/llvm-config" --link-static --libfiles passes orcjit linker native nvptx
    RESULT_VARIABLE dhpvm_llvm_failed OUTPUT_VARIABLE dhpvm_llvm_files ERROR_VARIABLE dhpvm_llvm_reason
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  separate_arguments(dhpvm_llvm_files UNIX_COMMAND "${dhpvm_llvm_files}")
  # By the names that LLVM's own packages need: those for development need not be there.
  find_library(DHPVM_ZLIB NAMES libz.so libz.so.1)
  find_library(DHPVM_ZSTD NAMES libzstd.so libzstd.so.1)
  mark_as_advanced(DHPVM_ZLIB DHPVM_ZSTD)
  if(NOT dhpvm_llvm_failed EQUAL 0)
    message(STATUS "LLVM is linked as a shared library: llvm-config says ${dhpvm_llvm_reason}")
  elseif(NOT DHPVM_ZLIB OR NOT DHPVM_ZSTD)
    message(STATUS "LLVM is linked as a shared library: its archives need zlib and zstd, which were not found")
  else()
    set(dhpvm_llvm_archives ${dhpvm_llvm_files} ${DHPVM_ZLIB} ${DHPVM_ZSTD} ${CMAKE_DL_LIBS} m)
  endif()
endif()
if(dhpvm_llvm_archives)
  target_link_libraries(dhpvm_llvm INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:DHPVM_STATIC_LLVM>>,${dhpvm_llvm_archives},LLVM>")
else()
  target_link_libraries(dhpvm_llvm INTERFACE LLVM)
endif()
