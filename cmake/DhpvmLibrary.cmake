# SPDX-License-Identifier: Apache-2.0
# libdhpvm.so: all rooms in one shared library that shows the public API and nothing else, libdhpvm.a with the same
# rooms, and their CMake package.

# CMake wants a source file of a shared library's own; all code comes from the rooms.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/libdhpvm.cpp" CONTENT "// Generated: the code of libdhpvm is in its rooms.\n")
add_library(dhpvm SHARED "${CMAKE_BINARY_DIR}/libdhpvm.cpp")
add_library(dhpvm::dhpvm ALIAS dhpvm)

# All of vm/api, because nothing inside the library refers to the public API that it defines; of the rooms, what it
# needs.
target_link_libraries(dhpvm PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,dhpvm_api>")
# Ahead of mimalloc, which has an operator delete of its own: in a process that has loaded the standard library already,
# for an extension of Python for example, that one would free what the standard library has allocated.
target_link_options(dhpvm PRIVATE LINKER:--push-state,--no-as-needed,-lstdc++,--pop-state)
target_include_directories(dhpvm INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(dhpvm INTERFACE cxx_std_20)

# Hidden visibility does not reach the templates of other libraries (fmt, the standard library) that are instantiated
# here: the version script does.
set(exports "${PROJECT_SOURCE_DIR}/cmake/libdhpvm.map")
target_link_options(dhpvm PRIVATE "LINKER:--version-script=${exports}")
set(link_depends "${exports}")

# Functions that each program executes stand side by side, which saves a short one 1.5 MiB of resident code. lld knows
# the option.
set(startup_order "${PROJECT_SOURCE_DIR}/cmake/startup_order.txt")
check_linker_flag(CXX "LINKER:--symbol-ordering-file=${startup_order},--no-warn-symbol-ordering" DHPVM_ORDERS_FUNCTIONS)
if(DHPVM_ORDERS_FUNCTIONS)
  target_link_options(dhpvm PRIVATE "LINKER:--symbol-ordering-file=${startup_order},--no-warn-symbol-ordering")
  list(APPEND link_depends "${startup_order}")
endif()
set_target_properties(dhpvm PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                       LINK_DEPENDS "${link_depends}")

# dhpvm_rooms_behind(ROOMS TARGET): the rooms of this build that TARGET is linked with, itself included.
function(dhpvm_rooms_behind rooms target)
  set(found "")
  set(todo ${target})
  while(todo)
    list(POP_FRONT todo next)
    get_target_property(dependencies ${next} INTERFACE_LINK_LIBRARIES)
    get_target_property(type ${next} TYPE)
    get_target_property(is_borrowed ${next} IMPORTED)
    if(type STREQUAL "STATIC_LIBRARY" AND NOT is_borrowed)
      list(APPEND found ${next})
    endif()
    foreach(dependency IN LISTS dependencies)
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" dependency "${dependency}")
      if(dependency MATCHES "^dhpvm_" AND NOT dependency IN_LIST found AND NOT dependency IN_LIST todo)
        list(APPEND todo ${dependency})
      endif()
    endforeach()
  endwhile()
  set(${rooms} ${found} PARENT_SCOPE)
endfunction()

dhpvm_rooms_behind(rooms dhpvm_api)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(dhpvm_static STATIC "${CMAKE_BINARY_DIR}/libdhpvm.cpp" ${objects})
# By their names, which are the same where the library is installed.
set(private_libraries fmt stdc++ mimalloc ${CMAKE_DL_LIBS} pthread m)
target_link_libraries(dhpvm_static INTERFACE ${private_libraries})
target_include_directories(dhpvm_static INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(dhpvm_static INTERFACE cxx_std_20)
set_target_properties(dhpvm_static PROPERTIES OUTPUT_NAME dhpvm EXPORT_NAME static
                                              ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
list(TRANSFORM private_libraries PREPEND "-l" OUTPUT_VARIABLE private_flags)
list(JOIN private_flags " " private_flags)

install(TARGETS dhpvm dhpvm_static EXPORT dhpvmConfig
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
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
Libs.private: ${private_flags}
" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/dhpvm.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
