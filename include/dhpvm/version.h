// SPDX-License-Identifier: Apache-2.0
// The version of the headers an application is compiled with. The build reads it from here: this is
// its only place.
//
// While the major version is 0, a new minor version may change the API; a new patch version never does.
#pragma once

#define DHPVM_VERSION_MAJOR 0
#define DHPVM_VERSION_MINOR 1
#define DHPVM_VERSION_PATCH 0
#define DHPVM_VERSION "0.1.0"

// The inline namespace that holds the C++ API: dhpvm::Engine is dhpvm::v0_1::Engine to the linker. An application that
// was compiled with the headers of another minor version thus fails to link, and two versions of the library in one
// process do not share code. It changes with the minor version, never with the patch; docs/stability.md says more.
#define DHPVM_CPP_NAMESPACE DHPVM_CPP_NAMESPACE_OF(DHPVM_VERSION_MAJOR, DHPVM_VERSION_MINOR)
#define DHPVM_CPP_NAMESPACE_OF(major, minor) DHPVM_CPP_NAMESPACE_JOIN(major, minor)
#define DHPVM_CPP_NAMESPACE_JOIN(major, minor) v##major##_##minor
