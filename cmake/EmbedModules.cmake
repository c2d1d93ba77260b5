# SPDX-License-Identifier: Apache-2.0
# Run at build time: cmake -DOUTPUT=FILE -DFOLDER=FOLDER -P EmbedModules.cmake
# Writes the *.dhp files of FOLDER, by name, as rows of a C++ table: {"name", R"delimiter(text)delimiter"sv},

file(GLOB files "${FOLDER}/*.dhp")
list(SORT files)
file(WRITE "${OUTPUT}.new" "// Generated from ${FOLDER}/*.dhp.\n")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(FIND "${text}" ")dhp_module\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} contains the delimiter of the string literal that it is embedded in")
  endif()
  file(APPEND "${OUTPUT}.new" "{\"${name}\", R\"dhp_module(${text})dhp_module\"sv},\n")
endforeach()
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
