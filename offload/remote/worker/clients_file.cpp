// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/clients_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/error.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/security.h"

namespace dhpvm::offload {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kMostClients = 1024;
constexpr std::size_t kLongestName = 64;
constexpr std::uint64_t kLongestTime = std::uint64_t{100} * 365 * 24 * 3600;  // seconds
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

Error wrong(std::string_view what) { return error(ErrorCode::kInvalidArgument, "{}", what); }

// Names appear in logs, and people must be able to tell them apart.
bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.' ||
           letter == '@';
  });
}

// Wipes the texts after reading, because they are keys.
Status read_keys(Json& keys, ClientEntry& client) {
  if (!keys.is_array() || keys.empty() || keys.size() > 2)
    return wrong("\"keys\" is a list of one key or two");
  for (Json& key : keys) {
    if (!key.is_string()) return wrong("a key is a text");
    auto& text = key.get_ref<std::string&>();
    auto bytes = parse_key(text);
    explicit_bzero(text.data(), text.size());
    if (!bytes.ok()) return std::move(bytes).error();
    client.keys.push_back(std::move(bytes).value());
  }
  return {};
}

Result<std::uint64_t> read_count(const Json& value, const std::string& field, std::uint64_t most) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() != 0 && value.get<std::uint64_t>() <= most)
    return value.get<std::uint64_t>();
  return wrong(most == kUnlimited ? fmt::format("\"{}\" is a number from 1 up", field)
                                  : fmt::format("\"{}\" is a number from 1 to {}", field, most));
}

Status read_rights(const Json& rights, ClientEntry& client) {
  client.may_use = false;
  if (!rights.is_array() || rights.empty()) return wrong(R"("rights" is a list of "use" and "operate")");
  for (const Json& right : rights) {
    if (right == "use") {
      client.may_use = true;
    } else if (right == "operate") {
      client.may_operate = true;
    } else {
      return wrong(R"("rights" is a list of "use" and "operate")");
    }
  }
  return {};
}

Status read_field(const std::string& field, Json& value, ClientEntry& client) {
  if (field == "name") {
    if (!value.is_string() || !is_name(value.get_ref<const std::string&>()))
      return wrong("a name has up to 64 letters, digits and any of -_.@");
    client.name = value.get<std::string>();
  } else if (field == "keys") {
    DHPVM_TRY(read_keys(value, client));
  } else if (field == "certificate") {
    if (!value.is_string() || value.get_ref<const std::string&>().empty() ||
        value.get_ref<const std::string&>().size() > kLongestCertificateName)
      return wrong("\"certificate\" is the common name in a certificate, of up to 64 bytes");
    client.certificate = value.get<std::string>();
  } else if (field == "rights") {
    DHPVM_TRY(read_rights(value, client));
  } else if (field == "sessions") {
    DHPVM_ASSIGN(client.sessions, read_count(value, field, kUnlimited));
  } else if (field == "memory") {
    DHPVM_ASSIGN(client.memory_bytes, read_count(value, field, kUnlimited));
  } else if (field == "time") {
    DHPVM_ASSIGN(const std::uint64_t seconds, read_count(value, field, kLongestTime));
    client.time = std::chrono::seconds(seconds);
  } else if (field == "priority") {
    DHPVM_ASSIGN(client.priority, read_count(value, field, ClientEntry::kHighestPriority));
  } else {
    return wrong("a client has only name, keys, certificate, rights, sessions, memory, time and priority");
  }
  return {};
}

Result<ClientEntry> read_client(Json& entry) {
  if (!entry.is_object()) return wrong("a client is written {\"name\": .., \"keys\": [..]}");
  ClientEntry client;
  for (auto& [field, value] : entry.items()) DHPVM_TRY(read_field(field, value, client));
  if (client.name.empty() || client.keys.empty() == client.certificate.empty())
    return wrong("every client needs \"name\", and either \"keys\" or \"certificate\"");
  return client;
}

Error cannot(const char* what, const std::string& path) {
  return error(ErrorCode::kInvalidArgument, "cannot {} the file of clients {}: {}", what, path,
               std::strerror(errno));
}

}  // namespace

Result<std::vector<ClientEntry>> parse_clients(std::string_view text) {
  Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || file.size() != 1 || !file.contains("clients") || !file["clients"].is_array())
    return wrong("it is no JSON of the form {\"clients\": [{\"name\": .., \"keys\": [..]}, ..]}");
  Json& entries = file["clients"];
  if (entries.size() > kMostClients) return wrong(fmt::format("it has more than {} clients", kMostClients));
  std::vector<ClientEntry> clients;
  std::set<std::string> names;
  std::set<SecretBytes> keys;
  std::set<std::string> certificates;
  for (std::size_t n = 0; n < entries.size(); ++n) {
    const auto context = [&](Error error) {
      return std::move(error).with_context(fmt::format("client {} of the list cannot be used", n + 1));
    };
    auto client = read_client(entries[n]);
    if (!client.ok()) return context(std::move(client).error());
    if (!names.insert(client->name).second) return context(wrong("there is another one of that name"));
    for (const SecretBytes& key : client->keys) {
      if (!keys.insert(key).second) return context(wrong("it has a key that is there already"));
    }
    if (!client->certificate.empty() && !certificates.insert(client->certificate).second)
      return context(wrong("it has a certificate that is there already"));
    clients.push_back(std::move(client).value());
  }
  return clients;
}

Result<std::vector<ClientEntry>> read_clients_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return cannot("open", path);
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return cannot("look at", path);
  if (!S_ISREG(facts.st_mode)) return error(ErrorCode::kInvalidArgument, "{} is no file", path);
  DHPVM_TRY(check_secrecy("the file of clients", path, facts.st_mode));
  std::string text(kLargestFile + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return cannot("read", path);
  }
  auto clients = size > kLargestFile ? Result<std::vector<ClientEntry>>(wrong("it is larger than 1 MiB"))
                                     : parse_clients(std::string_view(text).substr(0, size));
  explicit_bzero(text.data(), text.size());
  if (!clients.ok())
    return std::move(clients).error().with_context(fmt::format("{} is no file of clients", path));
  return clients;
}

}  // namespace dhpvm::offload
