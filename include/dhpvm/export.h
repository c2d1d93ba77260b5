// SPDX-License-Identifier: Apache-2.0
// DHPVM_API: marks what libdhpvm.so exports.
//
// Everything else in the library is hidden, so that an application may link another version of a library that
// DHPVM uses inside. Mark classes whose members are defined in the library, and free functions; templates and
// inline functions need no mark.
#pragma once

#define DHPVM_API __attribute__((visibility("default")))
