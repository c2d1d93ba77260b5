// SPDX-License-Identifier: Apache-2.0
// Converts the public API's security settings to those of the rooms below.
#pragma once

#include "dhpvm/remote.h"
#include "offload/remote/fabric/security.h"

namespace dhpvm {

// Without the key, which is in a separate file.
inline offload::Credentials credentials_of(const Security& security) {
  return {{}, security.certificate_file, security.private_key_file, security.authority_file};
}

}  // namespace dhpvm
