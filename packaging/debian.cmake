# SPDX-License-Identifier: Apache-2.0
# Debian packages: `./dev package` configures a build with the prefix /usr and lets CPack make them.
#
# Everything that is installed belongs to one of the components runtime, codegen, development and tools; each is a
# package.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dhpvm)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}-1")
set(CPACK_PACKAGE_CONTACT "The authors of DHPVM <maintainers@users.noreply.a-seed-a06ecf37.example>")
# CPack would put the project's summary in front of each package's own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime codegen development tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps looks there for our own library; whose package that is stands below.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
set(own "(= ${CPACK_PACKAGE_VERSION})")
set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# dhpvm_package(COMPONENT NAME SECTION SUMMARY TEXT): a component's package.
macro(dhpvm_package component name section summary text)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${COMPONENT}_DESCRIPTION "${summary}\n${text}")
  # Debian asks every package for these.
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/copyright" "${CMAKE_BINARY_DIR}/changelog.Debian.gz"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" COMPONENT ${component})
endmacro()

find_program(gzip gzip REQUIRED)
string(TIMESTAMP today "%a, %d %b %Y 00:00:00 +0000" UTC)
file(WRITE "${CMAKE_BINARY_DIR}/changelog.Debian" "dhpvm (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${PROJECT_VERSION}; changelog.gz of the package dhpvm tells what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
execute_process(COMMAND "${gzip}" -9nkf "${CMAKE_BINARY_DIR}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)

set(about "DHPVM runs programs whose parallel loops move to the processors, GPUs
and remote workers that are near, with the same results everywhere.")
dhpvm_package(runtime libdhpvm${abi} libs "virtual machine with parallel loops - shared library"
"${about}
This package has the library, for applications that run such programs.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libdhpvm-codegen ${own}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "ocl-icd-libopencl1, libopenblas0-pthread, zlib1g, libzstd1, libpng16-16, libturbojpeg0")
# Which package programs with this library need, and that the loader's list of libraries changes.
file(WRITE "${CMAKE_BINARY_DIR}/shlibs" "libdhpvm ${abi} libdhpvm${abi} (>= ${CPACK_PACKAGE_VERSION})\n")
file(WRITE "${CMAKE_BINARY_DIR}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/shlibs;${CMAKE_BINARY_DIR}/triggers")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)

dhpvm_package(codegen libdhpvm-codegen libs "virtual machine with parallel loops - native code"
"${about}
This package has the generator of native code, with LLVM inside. Without
it programs are interpreted.")
set(CPACK_DEBIAN_CODEGEN_PACKAGE_DEPENDS "libdhpvm${abi} ${own}")

dhpvm_package(development libdhpvm-dev libdevel "virtual machine with parallel loops - development files"
"${about}
This package has the headers for C and C++, and files for CMake and
pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libdhpvm${abi} ${own}")

dhpvm_package(tools dhpvm devel "virtual machine with parallel loops - programs"
"${about}
This package has the compiler dhpvmc, dhpvm-run, which runs programs and
workers, a benchmark of batching, and an interpreter of PTX.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libdhpvm${abi} ${own}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "libdhpvm-codegen ${own}, python3")
# Debian wants changelogs, and pages of the manual, compressed.
configure_file("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${CMAKE_BINARY_DIR}/changelog" COPYONLY)
execute_process(COMMAND "${gzip}" -9nkf "${CMAKE_BINARY_DIR}/changelog" COMMAND_ERROR_IS_FATAL ANY)
install(FILES "${CMAKE_BINARY_DIR}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tools)
install(CODE "file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
execute_process(COMMAND \"${gzip}\" -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT tools)

include(CPack)
