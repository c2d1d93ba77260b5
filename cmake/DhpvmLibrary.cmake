# SPDX-License-Identifier: Apache-2.0
# libdhpvm.so: all rooms in one shared library that shows the public API and nothing else, and its CMake package.

# CMake wants a source file of a shared library's own; all code comes from the rooms.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/libdhpvm.cpp" CONTENT "// Generated: the code of libdhpvm is in its rooms.\n")
add_library(dhpvm SHARED "${CMAKE_BINARY_DIR}/libdhpvm.cpp")
add_library(dhpvm::dhpvm ALIAS dhpvm)

# All of vm/api, because nothing inside the library refers to the public API that it defines; of the rooms, what it
# needs.
target_link_libraries(dhpvm PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,dhpvm_api>")
target_include_directories(dhpvm INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(dhpvm INTERFACE cxx_std_20)

# Hidden visibility does not reach the templates of other libraries (fmt, the standard library) that are instantiated
# here: the version script does.
set(exports "${PROJECT_SOURCE_DIR}/cmake/libdhpvm.map")
target_link_options(dhpvm PRIVATE "LINKER:--version-script=${exports}")
set_target_properties(dhpvm PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                       LINK_DEPENDS "${exports}")

install(TARGETS dhpvm EXPORT dhpvmConfig
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/dhpvm" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
        FILES_MATCHING PATTERN "*.h")
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/dhpvm")
install(EXPORT dhpvmConfig NAMESPACE dhpvm:: DESTINATION "${package}" COMPONENT development)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/dhpvmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/dhpvmConfigVersion.cmake" DESTINATION "${package}" COMPONENT development)

# The same for builds without CMake. The folder of the file says where all others are, so that what is installed can
# be moved.
file(RELATIVE_PATH prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/dhpvm.pc" CONTENT "prefix=\${pcfiledir}/${prefix}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: DHPVM
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -ldhpvm
" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/dhpvm.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
