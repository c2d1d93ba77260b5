# SPDX-License-Identifier: Apache-2.0
# Precompiled headers of other projects: parsing them is more than half of what a file costs to compile. Our own headers
# are not among them, because a change to one would compile everything again.
#
# CMake's target_precompile_headers writes the path of its build folder into each of them, so that no other checkout can
# take compiled files from the same ccache. Here the main file is a header of the system and the rest is included by
# options: nothing in the result depends on where the checkout is. A compiler other than clang goes without.
option(DHPVM_PCH "Precompile the headers of the standard library, fmt, LLVM and GoogleTest (clang alone)" OFF)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(DHPVM_PCH OFF)
endif()
if(DHPVM_PCH AND DHPVM_CCACHE AND CMAKE_CXX_COMPILER_LAUNCHER STREQUAL DHPVM_CCACHE)
  # Without it, ccache refuses all files that include a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${DHPVM_CCACHE}")
endif()

set(standard_headers algorithm array atomic bit charconv chrono cmath condition_variable cstddef cstdint cstdio cstdlib
                     cstring deque filesystem functional initializer_list iterator limits map memory mutex numeric
                     optional random set span string string_view system_error thread tuple type_traits unordered_map
                     unordered_set utility variant vector)

# dhpvm_precompile(GROUP MAIN header INCLUDES header ... DEPS library ... OPTIONS option ...)
function(dhpvm_precompile group)
  cmake_parse_arguments(PCH "" "MAIN" "INCLUDES;DEPS;OPTIONS" ${ARGN})
  if(NOT DHPVM_PCH)
    return()
  endif()
  find_file(DHPVM_PCH_MAIN_${group} ${PCH_MAIN} PATHS ${LLVM_INCLUDE_DIRS} REQUIRED)
  mark_as_advanced(DHPVM_PCH_MAIN_${group})
  set(main "${DHPVM_PCH_MAIN_${group}}")
  set_source_files_properties("${main}" PROPERTIES LANGUAGE CXX)
  add_library(dhpvm_pch_${group} OBJECT "${main}")
  target_link_libraries(dhpvm_pch_${group} PRIVATE dhpvm_flags ${PCH_DEPS})
  set_target_properties(dhpvm_pch_${group} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  list(TRANSFORM PCH_INCLUDES PREPEND "SHELL:-include ")
  target_compile_options(dhpvm_pch_${group} PRIVATE
    ${PCH_OPTIONS} -w -xc++-header "SHELL:-Xclang -fno-pch-timestamp" ${PCH_INCLUDES})
  # Files are compiled after all of a custom target that theirs depends on, but beside a library.
  add_custom_target(dhpvm_pch_${group}_ready DEPENDS dhpvm_pch_${group})
endfunction()

dhpvm_precompile(rooms MAIN fmt/format.h INCLUDES ${standard_headers} DEPS fmt::fmt)
if(DHPVM_CODEGEN)
  dhpvm_precompile(llvm MAIN llvm/IR/IRBuilder.h DEPS fmt::fmt dhpvm_llvm
    INCLUDES ${standard_headers} fmt/format.h llvm/ADT/DenseMap.h llvm/ADT/STLExtras.h llvm/ADT/SmallPtrSet.h
             llvm/Analysis/LoopInfo.h llvm/Analysis/ValueTracking.h llvm/IR/Dominators.h llvm/IR/InstIterator.h
             llvm/IR/IntrinsicInst.h llvm/IR/MDBuilder.h llvm/IR/Module.h llvm/IR/PatternMatch.h
             llvm/Support/raw_ostream.h llvm/Transforms/Utils/Local.h)
endif()
if(DHPVM_TESTS)
  dhpvm_precompile(tests MAIN gmock/gmock.h INCLUDES ${standard_headers} fmt/format.h gtest/gtest.h
                   DEPS fmt::fmt GTest::gtest OPTIONS -fPIE)
endif()

# dhpvm_precompiled(TARGET GROUP): TARGET has the options and libraries of that group.
function(dhpvm_precompiled target group)
  if(NOT TARGET dhpvm_pch_${group})
    return()
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -include-pch -Xclang $<TARGET_OBJECTS:dhpvm_pch_${group}>"
                                           "SHELL:-Xclang -fno-pch-timestamp")
  # What the headers were compiled with must hold for the target, whether it uses fmt or not.
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  add_dependencies(${target} dhpvm_pch_${group}_ready)
endfunction()
