# SPDX-License-Identifier: Apache-2.0
# Functions that declare a room (one folder, one library), its tests, fuzzers and tools, and the flags that all share.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# Libraries that only libdhpvm loads, by their path (base/private_library.h).
set(DHPVM_INSTALL_PRIVATE_LIBDIR "${CMAKE_INSTALL_LIBDIR}/dhpvm")

find_program(DHPVM_CCACHE ccache)
if(DHPVM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DHPVM_CCACHE}")
endif()

add_library(dhpvm_flags INTERFACE)
target_include_directories(dhpvm_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
target_compile_options(dhpvm_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -fno-strict-aliasing -ffp-contract=off)
# The cache of compiled code tells builds of the code generator apart by it; not every linker writes one unasked.
target_link_options(dhpvm_flags INTERFACE "LINKER:--build-id=sha1")
# Relocations of 24 bytes each, which every process reads when it starts, become a bit or two: 2.4 MB of the library with
# LLVM, 0.2 MB of the one without. glibc applies them from 2.36 on.
include(CheckLinkerFlag)
check_linker_flag(CXX "LINKER:-z,pack-relative-relocs" DHPVM_PACKS_RELOCATIONS)
if(DHPVM_PACKS_RELOCATIONS)
  target_link_options(dhpvm_flags INTERFACE "LINKER:-z,pack-relative-relocs")
endif()
# A name that nothing defines is an error of the linker, and not of a program that is the first to need it. What
# sanitizers and fuzzers call is defined in the program.
if(NOT DHPVM_SANITIZE AND NOT DHPVM_FUZZ)
  string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,-z,defs")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's own stable_sort calls a function that it marks deprecated.
  target_compile_options(dhpvm_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies inside std::string where there are none.
  target_compile_options(dhpvm_flags INTERFACE -Wno-pedantic -Wno-restrict)
endif()
if(DHPVM_WERROR)
  target_compile_options(dhpvm_flags INTERFACE -Werror)
endif()
if(DHPVM_SANITIZE STREQUAL "address")
  # AddressSanitizer and the processor stop at null and at what is too small: checking that twice costs a fifth of the build.
  target_compile_options(dhpvm_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(dhpvm_flags INTERFACE -fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # It reads a signature in front of the function that is called; functions compiled at run time have none, and may
    # begin at the first byte of a mapping.
    target_compile_options(dhpvm_flags INTERFACE -fno-sanitize=function)
  endif()
elseif(DHPVM_SANITIZE STREQUAL "thread")
  target_compile_options(dhpvm_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(dhpvm_flags INTERFACE -fsanitize=thread)
elseif(DHPVM_SANITIZE)
  message(FATAL_ERROR "DHPVM_SANITIZE is '${DHPVM_SANITIZE}': use address, thread, or nothing.")
endif()
if(DHPVM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DHPVM_FUZZ needs clang for its libFuzzer; this compiler is ${CMAKE_CXX_COMPILER_ID}.")
  endif()
  # Traced comparisons guide a fuzzer in the rooms that read bytes; elsewhere tracing only costs time.
  target_compile_options(dhpvm_flags INTERFACE -fsanitize=fuzzer-no-link
                         $<$<NOT:$<BOOL:$<TARGET_PROPERTY:DHPVM_READS_BYTES>>>:-fno-sanitize-coverage=trace-cmp>)
endif()

# A build from nothing compiles several files of a room together, in half the time; a change then costs more.
option(DHPVM_ONE_GO "Compile several files at a time: for builds from nothing" OFF)
if(DHPVM_ONE_GO)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # A parameter of one file may have the name of a constant of another.
  target_compile_options(dhpvm_flags INTERFACE -Wno-shadow)
endif()

# dhpvm_test_flags(TARGET [SORT]): how tests are compiled. Under sanitizers, and in a build from nothing, the rooms that they
# test are optimised, which decides how long tests run; the tests themselves are not, which saves a third of the time that
# compiling them takes. THOROUGH tests do much themselves. Fuzzers learn nothing from the coverage of tests.
function(dhpvm_test_flags target)
  if(DHPVM_SANITIZE OR (DHPVM_ONE_GO AND NOT "${ARGN}" STREQUAL THOROUGH))
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(DHPVM_SANITIZE)
    target_compile_definitions(${target} PRIVATE DHPVM_SANITIZED) # for tests that then try fewer cases
  endif()
  if(DHPVM_FUZZ)
    target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

# dhpvm_common_headers(TARGET ROOM|COLD|TESTS|THOROUGH|TOOL): TARGET reads the headers that most files include from a precompiled one,
# which all targets of its sort share. A folder says in DHPVM_FOLDER_HEADERS what else its files include, and in
# DHPVM_FOLDER_LIBRARY where that comes from.
function(dhpvm_common_headers target of)
  set(shared "dhpvm_headers_${of}${DHPVM_FOLDER_LIBRARY}")
  if(NOT TARGET ${shared})
    set(headers <algorithm> <atomic> <chrono> <functional> <map> <memory> <mutex> <optional> <span> <string>
                <string_view> <unordered_map> <vector> <fmt/format.h> ${DHPVM_FOLDER_HEADERS})
    set(source "${CMAKE_BINARY_DIR}/${shared}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    if(of MATCHES "^(TESTS|THOROUGH)$")
      list(APPEND headers <filesystem> <random> <thread> <gtest/gtest.h>)
      set(tested GTest::gtest)
    endif()
    # Executables and libraries are compiled with different flags.
    if(of STREQUAL "ROOM" OR of STREQUAL "COLD")
      add_library(${shared} OBJECT EXCLUDE_FROM_ALL "${source}")
    else()
      add_executable(${shared} EXCLUDE_FROM_ALL "${source}")
    endif()
    target_precompile_headers(${shared} PRIVATE ${headers})
    dhpvm_link(${shared} PRIVATE dhpvm_flags ${DHPVM_FOLDER_LIBRARY} ${tested})
    if(of MATCHES "^(TESTS|THOROUGH)$")
      dhpvm_test_flags(${shared} ${of})
    elseif(of STREQUAL "COLD" OR (of STREQUAL "TOOL" AND DHPVM_SANITIZE))
      target_compile_options(${shared} PRIVATE -O0)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# dhpvm_one_go(TARGET [ROOM|COLD|TESTS|THOROUGH|TOOL]): the files of TARGET are compiled together, except those that
# cannot be, and with the headers of its sort, if it has one.
function(dhpvm_one_go target)
  if(NOT DHPVM_ONE_GO)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(GLOBAL APPEND PROPERTY DHPVM_ONE_GO_TARGETS ${target})
  if(ARGN)
    dhpvm_common_headers(${target} ${ARGN})
  endif()
endfunction()

# dhpvm_group_sources(): says of all files that are compiled together, with which others. Once, because it reads all files.
function(dhpvm_group_sources)
  get_property(targets GLOBAL PROPERTY DHPVM_ONE_GO_TARGETS)
  set(lines "")
  foreach(target IN LISTS targets)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE)
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${source}" is_generated)
      cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${source}" is_ours)
      if(source MATCHES "\\.cpp$" AND is_ours AND NOT is_generated)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        string(APPEND lines "${folder}=${target}=${source}\n")
      endif()
    endforeach()
  endforeach()
  set(list "${CMAKE_BINARY_DIR}/one_go.txt")
  file(WRITE "${list}" "${lines}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/compiled_together.py" "${PROJECT_SOURCE_DIR}" "${list}"
                  OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^(.*)=(.*)=(.*)$" line "${line}")
    set_source_files_properties("${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_2}" DIRECTORY "${CMAKE_MATCH_1}"
                                PROPERTIES UNITY_GROUP "${CMAKE_MATCH_3}")
  endforeach()
endfunction()

# dhpvm_link(TARGET SCOPE DEP...): a DEP is the name of a room or of any other library.
function(dhpvm_link target scope)
  foreach(dep ${ARGN})
    if(TARGET dhpvm_${dep})
      set(dep dhpvm_${dep})
    endif()
    target_link_libraries(${target} ${scope} ${dep})
  endforeach()
endfunction()

# dhpvm_add_folder(FOLDER): adds it; without its tests where DHPVM_ROOMS leaves it out. DHPVM_PART is the part that its tests
# belong to: sanitizers look at one part at a time.
function(dhpvm_add_folder folder)
  set(rooms others)
  if(folder STREQUAL codegen)
    set(rooms codegen)
  endif()
  if(folder MATCHES "^(base|bytecode|compiler)$")
    set(DHPVM_PART front)
  elseif(folder MATCHES "^(gc|vm|stdlib|codegen/cached)$")
    set(DHPVM_PART machine)
  elseif(folder MATCHES "^(codegen|offload)$")
    set(DHPVM_PART ${folder})
  else()
    set(DHPVM_PART api)
  endif()
  if(NOT "${DHPVM_ROOMS}" MATCHES "^(${rooms})?$")
    foreach(option DHPVM_TESTS DHPVM_UNIT_TESTS DHPVM_FUZZ)
      set(${option} OFF)
    endforeach()
  endif()
  add_subdirectory(${folder})
endfunction()

# dhpvm_room(NAME SOURCES a.cpp ... DEPS base ... [READS_BYTES] [COLD]): the static library dhpvm_NAME, built if something
# uses it. READS_BYTES: it reads what others wrote, and fuzzers look for the constants that it compares bytes with. COLD:
# tests spend little time in it, so that sanitizers need not optimise it, which is two fifths of the time of compiling it.
function(dhpvm_room name)
  cmake_parse_arguments(ROOM "READS_BYTES;COLD" "" "SOURCES;DEPS" ${ARGN})
  if(DHPVM_COMPILER_BUILD AND name MATCHES "^compiler")
    dhpvm_borrowed_room(${name} ${ROOM_DEPS})
    return()
  endif()
  add_library(dhpvm_${name} STATIC EXCLUDE_FROM_ALL ${ROOM_SOURCES})
  set_target_properties(dhpvm_${name} PROPERTIES DHPVM_READS_BYTES ${ROOM_READS_BYTES})
  dhpvm_link(dhpvm_${name} PUBLIC dhpvm_flags ${ROOM_DEPS})
  # An emulated compiler of ten lines need not be optimised either.
  if((ROOM_COLD AND DHPVM_SANITIZE) OR (CMAKE_CROSSCOMPILING AND (ROOM_COLD OR name MATCHES "^compiler")))
    target_compile_options(dhpvm_${name} PRIVATE -O0)
    dhpvm_one_go(dhpvm_${name} COLD)
  else()
    dhpvm_one_go(dhpvm_${name} ROOM)
  endif()
endfunction()

# dhpvm_borrowed_room(NAME DEP ...): the room of this folder, as the build DHPVM_COMPILER_BUILD has compiled it.
function(dhpvm_borrowed_room name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  add_library(dhpvm_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(dhpvm_${name} PROPERTIES
                        IMPORTED_LOCATION "${DHPVM_COMPILER_BUILD}/${folder}/libdhpvm_${name}.a")
  dhpvm_link(dhpvm_${name} INTERFACE dhpvm_flags ${ARGN})
endfunction()

# dhpvm_listed_folders(NAMES SOURCES FILE): the folders that FILE lists, a line X(NAME) each, and the sources in them that
# are no tests. So that the line is all there is to do for a folder that is new.
function(dhpvm_listed_folders names sources file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  file(STRINGS "${file}" lines REGEX "^X\\([a-z0-9_]+\\)$")
  list(TRANSFORM lines REPLACE "^X\\((.*)\\)$" "\\1" OUTPUT_VARIABLE folders)
  set(found "")
  foreach(folder IN LISTS folders)
    file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    list(FILTER files EXCLUDE REGEX "_test\\.cpp$")
    list(APPEND found ${files})
  endforeach()
  set(${names} ${folders} PARENT_SCOPE)
  set(${sources} ${found} PARENT_SCOPE)
endfunction()

# dhpvm_unit_test(NAME SOURCES x_test.cpp ... DEPS room ... [THREADS]): one GoogleTest program, one ctest entry.
# THREADS marks a test of code that several threads run at once: those also run under ThreadSanitizer in CI. THOROUGH: it
# does much more where it is optimised, and belongs to a build without the other unit tests, too.
function(dhpvm_unit_test name)
  cmake_parse_arguments(TEST "THREADS;THOROUGH" "" "SOURCES;DEPS" ${ARGN})
  if(NOT DHPVM_TESTS OR NOT (DHPVM_UNIT_TESTS OR TEST_THOROUGH))
    return()
  endif()
  set(sort TESTS)
  if(TEST_THOROUGH)
    set(sort THOROUGH)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  dhpvm_link(${name} PRIVATE ${TEST_DEPS} dhpvm_flags GTest::gtest_main)
  dhpvm_test_flags(${name} ${sort})
  dhpvm_one_go(${name} ${sort})
  add_test(NAME ${name} COMMAND ${name})
  dhpvm_label(${name} unit ${DHPVM_PART})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY DHPVM_UNIT_TESTS_${DHPVM_PART} ${name})
  if(TEST_THREADS)
    dhpvm_label(${name} threads)
    set_property(GLOBAL APPEND PROPERTY DHPVM_THREAD_TESTS_${DHPVM_PART} ${name})
  endif()
endfunction()

# dhpvm_label(TEST LABEL..): ctest -L LABEL then runs it.
function(dhpvm_label test)
  set_property(TEST ${test} APPEND PROPERTY LABELS ${ARGN})
endfunction()

# dhpvm_shared_among_turns(TEST..): `./dev test` runs one of three of these tests, another one with each commit.
function(dhpvm_shared_among_turns)
  foreach(test ${ARGN})
    get_property(number GLOBAL PROPERTY DHPVM_SHARED_TESTS)
    math(EXPR share "0${number} % 3")
    math(EXPR number "0${number} + 1")
    set_property(GLOBAL PROPERTY DHPVM_SHARED_TESTS ${number})
    dhpvm_label(${test} "share-${share}")
  endforeach()
endfunction()

# dhpvm_fuzzer(NAME SOURCES x_fuzz.cpp ... DEPS room ...): one libFuzzer program. Its corpus is tests/fuzz/NAME/, its
# dictionary, if it has one, tests/fuzz/NAME.dict. The corpus is replayed by ctest as well.
function(dhpvm_fuzzer name)
  if(NOT DHPVM_FUZZ)
    return()
  endif()
  cmake_parse_arguments(FUZZ "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${FUZZ_SOURCES})
  dhpvm_link(${name} PRIVATE ${FUZZ_DEPS} dhpvm_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY DHPVM_FUZZERS_${DHPVM_PART} ${name})
  if(DHPVM_TESTS AND IS_DIRECTORY "${PROJECT_SOURCE_DIR}/tests/fuzz/${name}")
    add_test(NAME corpus.${name} COMMAND ${name} -runs=0 "${PROJECT_SOURCE_DIR}/tests/fuzz/${name}")
    dhpvm_label(corpus.${name} fuzz ${DHPVM_PART})
    set_tests_properties(corpus.${name} PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# dhpvm_benchmark_program(NAME [TESTED]): part of the target `benchmarks`, and of `tested_benchmarks` if a test runs it. A
# build from nothing, which is for tests, leaves them to those tests.
function(dhpvm_benchmark_program name)
  set_property(GLOBAL APPEND PROPERTY DHPVM_BENCHMARKS ${name})
  if(ARGN)
    set_property(GLOBAL APPEND PROPERTY DHPVM_TESTED_BENCHMARKS ${name})
  endif()
  if(DHPVM_ONE_GO)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# dhpvm_tool(NAME SOURCES x.cpp ... DEPS ... [ON_ROOMS]): an installed program that stands on the public API alone, or,
# without the library, on the rooms of its DEPS.
function(dhpvm_tool name)
  cmake_parse_arguments(TOOL "ON_ROOMS" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${TOOL_SOURCES})
  if(NOT TOOL_ON_ROOMS)
    list(PREPEND TOOL_DEPS dhpvm)
  endif()
  dhpvm_link(${name} PRIVATE ${TOOL_DEPS} dhpvm_flags)
  # The loader looks for a name in the libraries in this order, and most names are the standard library's.
  target_link_options(${name} PRIVATE LINKER:--push-state,--no-as-needed,-lstdc++,-lc,--pop-state)
  if(DHPVM_SANITIZE) # as COLD rooms
    target_compile_options(${name} PRIVATE -O0)
  endif()
  dhpvm_one_go(${name} TOOL)
  # One way to the library, in the build and where it is installed. That of a build alone would end in a separator, for
  # CMake to replace it when installing, and the loader takes what is behind it for the current folder.
  file(RELATIVE_PATH built "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  file(RELATIVE_PATH installed "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(ways "$ORIGIN/${built}" "$ORIGIN/${installed}")
  list(REMOVE_DUPLICATES ways)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${ways}")
  if(NOT CMAKE_SKIP_INSTALL_RPATH) # as in packages, whose libraries are where the loader looks anyhow
    set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY DHPVM_PROGRAMS ${name})
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endfunction()

# dhpvm_embed_modules(OUTPUT FOLDER): the *.dhp files of FOLDER as rows of a C++ table, with their text.
function(dhpvm_embed_modules output folder)
  file(GLOB modules CONFIGURE_DEPENDS "${folder}/*.dhp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFOLDER=${folder}"
            -P "${PROJECT_SOURCE_DIR}/cmake/EmbedModules.cmake"
    DEPENDS ${modules} "${PROJECT_SOURCE_DIR}/cmake/EmbedModules.cmake"
    COMMENT "Embedding ${folder}" VERBATIM)
  cmake_path(GET output STEM name)
  add_custom_target(${name}_table DEPENDS "${output}")
  set_property(GLOBAL APPEND PROPERTY DHPVM_GENERATED ${name}_table)
endfunction()

# dhpvm_finish(): called once, after everything is declared. Writes the list of fuzzers, a line `PART NAME` each, for
# `./dev fuzz` and adds the targets `unit_tests_PART` (with the fuzzers), `thread_tests_PART`, `programs` (what tests that are
# scripts run), `benchmarks`, `tested_benchmarks` and `generated_files`.
function(dhpvm_finish)
  set(lines "")
  foreach(part front machine api codegen offload)
    foreach(sort FUZZERS UNIT_TESTS THREAD_TESTS)
      get_property(${sort} GLOBAL PROPERTY DHPVM_${sort}_${part})
    endforeach()
    foreach(name IN LISTS FUZZERS)
      string(APPEND lines "${part} ${name}\n")
    endforeach()
    add_custom_target(unit_tests_${part} DEPENDS ${UNIT_TESTS} ${FUZZERS})
    add_custom_target(thread_tests_${part} DEPENDS ${THREAD_TESTS})
  endforeach()
  file(WRITE "${CMAKE_BINARY_DIR}/fuzzers.txt" "${lines}")
  get_property(programs GLOBAL PROPERTY DHPVM_PROGRAMS)
  add_custom_target(programs DEPENDS ${programs})
  foreach(sort benchmarks tested_benchmarks)
    string(TOUPPER "DHPVM_${sort}" property)
    get_property(names GLOBAL PROPERTY ${property})
    add_custom_target(${sort} DEPENDS ${names})
  endforeach()
  get_property(generated GLOBAL PROPERTY DHPVM_GENERATED)
  add_custom_target(generated_files DEPENDS ${generated})
  if(DHPVM_ONE_GO)
    dhpvm_group_sources()
  endif()
endfunction()
