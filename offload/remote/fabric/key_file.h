// SPDX-License-Identifier: Apache-2.0
// The secret that client and worker share: 32 random bytes in a file that only its owner can read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dhpvm/result.h"
#include "offload/remote/fabric/secret_bytes.h"

namespace dhpvm::offload {

inline constexpr std::size_t kKeyBytes = 32;

// Creates the file, with mode 0600. kIo where there is one already.
Status make_key_file(const std::string& path);

// kInvalidArgument when others can read or write the file, or when it does not contain 32 bytes as 64 hexadecimal
// digits or in base64.
Result<SecretBytes> read_key_file(const std::string& path);

// kInvalidArgument when the mode lets others than the owner read or write the file. `what` begins the message.
Status check_secrecy(std::string_view what, const std::string& path, unsigned mode);

// Parses the content of a key file; surrounding white space is ignored.
Result<SecretBytes> parse_key(std::string_view text);

}  // namespace dhpvm::offload
