// SPDX-License-Identifier: Apache-2.0
// The public API's words for who may talk to whom, as the rooms below have them.
#pragma once

#include "dhpvm/remote.h"
#include "offload/remote/fabric/security.h"

namespace dhpvm {

// Without the key, which is in a file of its own.
inline offload::Credentials credentials_of(const Security& security) {
  return {{}, security.certificate_file, security.private_key_file, security.authority_file};
}

}  // namespace dhpvm
