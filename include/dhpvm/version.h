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
