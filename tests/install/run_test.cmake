# SPDX-License-Identifier: Apache-2.0
# Installs a build into a scratch folder, builds the project next to this file against the installed copy, and runs it
# and the installed programs. Variables: BUILD, COMPILER, C_COMPILER, GENERATOR,
# VERSION.

set(prefix "${BUILD}/install-test/prefix")
set(project "${BUILD}/install-test/build")
file(REMOVE_RECURSE "${BUILD}/install-test")

# run(TEXT COMMAND...): the command must succeed and, unless TEXT is empty, print TEXT.
function(run text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  list(JOIN ARGN " " command)
  message("$ ${command}\n${output}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit code ${code}")
  endif()
  string(FIND "${output}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "the output does not contain '${text}'")
  endif()
endfunction()

run("" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
run("" "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${project}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
run("" "${CMAKE_COMMAND}" --build "${project}")
run("the answer is 42" "${project}/host")
run("the answer is 42" "${project}/host_static")

# An application that was compiled with the headers of another minor version does not link.
file(COPY "${prefix}/include" DESTINATION "${BUILD}/install-test/other")
set(version_header "${BUILD}/install-test/other/include/dhpvm/version.h")
file(READ "${version_header}" text)
string(REGEX REPLACE "DHPVM_VERSION_MINOR [0-9]+" "DHPVM_VERSION_MINOR 99" text "${text}")
file(WRITE "${version_header}" "${text}")
file(GLOB_RECURSE library "${prefix}/*/libdhpvm.so")
execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${BUILD}/install-test/other/include"
                        "${CMAKE_CURRENT_LIST_DIR}/main.cpp" "${library}" -o "${BUILD}/install-test/other/host"
                RESULT_VARIABLE code ERROR_VARIABLE errors)
string(FIND "${errors}" "v0_99" position)
if(code EQUAL 0 OR position EQUAL -1)
  message(FATAL_ERROR "headers of another version are linked with this library: ${errors}")
endif()

# The sample host application is a project that people copy: it must build the same way.
set(sample "${BUILD}/install-test/sample")
run("" "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/../../samples/embed" -B "${sample}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
run("" "${CMAKE_COMMAND}" --build "${sample}")
run("two threads found 3.200 and 3.200" "${sample}/embed_sample")
run("${VERSION}" "${prefix}/bin/dhpvm-ptx" --version)

# The sample in C, as a project of C alone and by the compiler's command line.
set(sample "${BUILD}/install-test/sample-c")
set(source "${CMAKE_CURRENT_LIST_DIR}/../../samples/embed_c")
run("" "${CMAKE_COMMAND}" -S "${source}" -B "${sample}" -G "${GENERATOR}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Release)
run("" "${CMAKE_COMMAND}" --build "${sample}")
run("10 values were clipped so far" "${sample}/embed_c_sample")
find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE description "${prefix}/*/dhpvm.pc")
  cmake_path(GET description PARENT_PATH folder)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${pkg_config}" --cflags --libs dhpvm
                  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags)
  cmake_path(GET folder PARENT_PATH libraries)
  run("" "${C_COMPILER}" -std=c11 "${source}/main.c" "-DEMBED_C_SAMPLE_RULES=\"${source}/rules.dhp\"" ${flags} -lm
      -o "${sample}/by_hand")
  run("10 values were clipped so far" "${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${libraries}" "${sample}/by_hand")
  # The static library has to be named where there is the other one as well.
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${pkg_config}" --static --cflags
                          --libs dhpvm
                  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "-ldhpvm" "-l:libdhpvm.a" flags "${flags}")
  separate_arguments(flags)
  run("" "${C_COMPILER}" -std=c11 "${source}/main.c" "-DEMBED_C_SAMPLE_RULES=\"${source}/rules.dhp\"" ${flags}
      -o "${sample}/by_hand_static")
  run("10 values were clipped so far" "${sample}/by_hand_static")
endif()

foreach(tool dhpvm-run dhpvmc)
  run("${VERSION}" "${prefix}/bin/${tool}" --version)
  # The copy stands on its own: its library is the installed one, not the one in the build folder.
  run("=> ${prefix}/" ldd "${prefix}/bin/${tool}")
endforeach()
