// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_rights.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Compilers and drivers open tens of files.
constexpr rlim_t kMostFiles = 1024;
constexpr rlim_t kLargestFile = rlim_t{1} << 30;

Error refused(const char* what) {
  return error(ErrorCode::kIo, "the process of a session cannot give up its rights ({}): {}", what,
               std::strerror(errno));
}

Status lower(__rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return refused("limits");
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (setrlimit(resource, &limit) != 0) return refused("limits");
  return {};
}

// ---- Landlock: files and TCP ----------------------------------------------------------------------------------------

// As in version 6 of the kernel's interface; <linux/landlock.h> may be older.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};
constexpr std::uint64_t kMove = std::uint64_t{1} << 13;      // between folders; from version 2 on
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;  // from version 3 on
constexpr std::uint64_t kTcp = 3;                            // bind and connect; from version 4 on
constexpr std::uint64_t kScopes = 3;  // abstract sockets and signals; from version 6 on

constexpr std::uint64_t kChanges = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

Status allow_changes_beneath(int ruleset, const std::string& folder, std::uint64_t changes) {
  const Descriptor place(open(folder.c_str(), O_PATH | O_CLOEXEC));
  if (!place.is_open()) return {};
  const landlock_path_beneath_attr rule{changes, place.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return refused(folder.c_str());
  return {};
}

std::vector<std::string> usual_folders() {
  std::vector<std::string> folders{"/dev", "/proc/self", "/tmp", "/var/tmp"};
  if (const char* const folder = std::getenv("TMPDIR"); folder != nullptr) folders.emplace_back(folder);
  return folders;
}

// False if the system has no Landlock.
Result<bool> keep_to(const std::vector<std::string>& folders) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  Ruleset rules;
  rules.files = kChanges | (version >= 2 ? kMove : 0) | (version >= 3 ? kTruncate : 0);
  rules.network = version >= 4 ? kTcp : 0;
  rules.scopes = version >= 6 ? kScopes : 0;
  // Older kernels know fewer fields, which the size tells them.
  const std::size_t size = version >= 6   ? sizeof(rules)
                           : version >= 4 ? offsetof(Ruleset, scopes)
                                          : sizeof(rules.files);
  const Descriptor ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0)));
  if (!ruleset.is_open()) return refused("Landlock");
  for (const std::string& folder : usual_folders())
    DHPVM_TRY(allow_changes_beneath(ruleset.get(), folder, rules.files));
  for (const std::string& folder : folders)
    DHPVM_TRY(allow_changes_beneath(ruleset.get(), folder, rules.files));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return refused("Landlock");
  return true;
}

// ---- seccomp: calls of the system -----------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// System calls that neither compilers nor device drivers make: they reach other processes, the system, or parts of the
// kernel that many attacks have used.
constexpr long kRefused[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_syslog,
    SYS_open_by_handle_at,
    SYS_vhangup,
    SYS_personality,
    SYS_listen,
    SYS_accept4,
};
constexpr std::size_t kRefusals = std::size(kRefused);
constexpr std::size_t kLingering = 5;  // instructions
static_assert(kRefusals < 200, "jumps reach 255 instructions");

constexpr sock_filter statement(std::uint16_t code, std::uint32_t value) { return {code, 0, 0, value}; }
constexpr sock_filter jump(std::uint32_t value, std::size_t then, std::size_t otherwise) {
  return {BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(then), static_cast<std::uint8_t>(otherwise),
          value};
}

// The lower half of an argument: the kernel's values fit into it.
constexpr std::uint32_t argument(std::uint32_t number) {
  static_assert(std::endian::native == std::endian::little);
  return offsetof(seccomp_data, args) + number * sizeof(std::uint64_t);
}

// False if the system has no filters.
bool refuse_calls() {
  if (kArchitecture == 0) return false;
  constexpr std::uint32_t kForeignTables = 0x40000000;  // x32's numbers
  std::array<sock_filter, kRefusals + 7 + kLingering> filter{};
  std::size_t next = 0;
  filter[next++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  // Jumps to the last instruction but one, which refuses.
  filter[next++] = jump(kArchitecture, 0, kRefusals + kLingering + 3);
  filter[next++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  filter[next++] = {BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint8_t>(kRefusals + kLingering + 1), 0,
                    kForeignTables};
  for (std::size_t n = 0; n < kRefusals; ++n)
    filter[next++] = jump(static_cast<std::uint32_t>(kRefused[n]), kRefusals + kLingering - n, 0);
  // Closing a lingering socket blocks whoever closes it last: this could be the worker, to which descriptors can be
  // sent.
  filter[next++] = jump(SYS_setsockopt, 0, kLingering - 1);
  filter[next++] = statement(BPF_LD | BPF_W | BPF_ABS, argument(1));
  filter[next++] = jump(SOL_SOCKET, 0, 2);
  filter[next++] = statement(BPF_LD | BPF_W | BPF_ABS, argument(2));
  filter[next++] = jump(SO_LINGER, 1, 0);
  filter[next++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[next++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  const sock_fprog program{static_cast<unsigned short>(next), filter.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace

Status keep_changes_to(const std::vector<std::string>& folders) {
  DHPVM_ASSIGN(const bool is_kept, keep_to(folders));
  static_cast<void>(is_kept);  // if the system cannot, the log has reported it already
  return {};
}

Result<std::string> give_up_rights(const std::vector<std::string>& folders) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error, and does not end the process
  DHPVM_TRY(lower(RLIMIT_CORE, 0));
  DHPVM_TRY(lower(RLIMIT_NOFILE, kMostFiles));
  DHPVM_TRY(lower(RLIMIT_FSIZE, kLargestFile));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return refused("privileges");
  std::string kept;
  DHPVM_ASSIGN(const bool keeps_to_folders, keep_to(folders));
  if (!keeps_to_folders) kept = "all files of its user, for the system has no Landlock";
  if (!refuse_calls())
    kept += std::string(kept.empty() ? "" : "; ") + "all calls of the system, which has no seccomp";
  return kept;
}

}  // namespace dhpvm::offload
