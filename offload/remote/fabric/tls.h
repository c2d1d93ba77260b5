// SPDX-License-Identifier: Apache-2.0
// Identities and handshakes with OpenSSL: TLS 1.3 only, one cipher, always with a fresh Diffie-Hellman exchange.
#pragma once

#include <memory>

#include "offload/remote/fabric/security.h"

namespace dhpvm::offload {

// kInvalidArgument when the credentials cannot be used.
Result<std::unique_ptr<Identity>> load_tls_identity(const Credentials& credentials);

}  // namespace dhpvm::offload
