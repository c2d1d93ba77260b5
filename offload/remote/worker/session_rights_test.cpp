// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>

namespace dhpvm::offload {
namespace {

// Calls `attempt` in a process without rights: 0 if that went well there, errno otherwise. -1: the system refuses
// nothing.
int without_rights(const std::vector<std::string>& folders, const std::function<int()>& attempt) {
  const pid_t child = fork();
  if (child == 0) {
    const auto kept = give_up_rights(folders);
    if (!kept.ok() || !kept->empty()) _exit(255);
    errno = 0;
    _exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

// Somewhere that is not beneath a folder for temporary files, in which sessions may write. Empty: nowhere.
std::filesystem::path lasting_folder() {
  const char* const home = std::getenv("HOME");
  for (const std::filesystem::path& folder :
       {std::filesystem::current_path(), std::filesystem::path(home ? home : "")}) {
    const std::string path = folder.string();
    if (!path.empty() && !path.starts_with("/tmp") && !path.starts_with("/var/tmp")) return folder;
  }
  return {};
}

class SessionRights : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path parent = lasting_folder();
    if (parent.empty()) GTEST_SKIP() << "SKIP: the build and HOME are in folders for temporary files";
    for (const char* const place : {"allowed", "other"}) {
      folders_.push_back(parent / (std::string(".dhpvm-session-rights-") + place));
      std::filesystem::create_directories(folders_.back());
    }
    if (without_rights({}, [] { return 0; }) < 0)
      GTEST_SKIP() << "SKIP: this system has no Landlock or no seccomp";
  }
  void TearDown() override {
    for (const std::string& folder : folders_) std::filesystem::remove_all(folder);
  }
  int write_in(const std::string& folder) const {
    return without_rights({folders_[0]},
                          [&] { return open((folder + "/x").c_str(), O_CREAT | O_WRONLY, 0600); });
  }
  std::vector<std::string> folders_;
};

TEST_F(SessionRights, FilesAreChangedInItsFoldersOnly) {
  EXPECT_EQ(write_in(folders_[0]), 0);
  EXPECT_EQ(write_in("/dev/shm"), 0);
  EXPECT_EQ(write_in(folders_[1]), EACCES);
  EXPECT_EQ(without_rights({}, [] { return open("/proc/self/status", O_RDONLY); }), 0);
  std::filesystem::remove("/dev/shm/x");
}

TEST_F(SessionRights, FilesOfOtherClientsAreOutOfReachOnceTheClientIsKnown) {
  const auto write_beneath = [&](const std::string& folder) {
    return without_rights(folders_, [&] {
      if (!keep_changes_to({folders_[0]}).ok()) return -1;
      return open((folder + "/x").c_str(), O_CREAT | O_WRONLY, 0600);
    });
  };
  EXPECT_EQ(write_beneath(folders_[0]), 0);
  EXPECT_EQ(write_beneath(folders_[1]), EACCES);
}

TEST_F(SessionRights, OtherProcessesAreOutOfReach) {
  EXPECT_EQ(without_rights({}, [] { return static_cast<int>(ptrace(PTRACE_ATTACH, getppid(), 0, 0)); }),
            EPERM);
  EXPECT_EQ(without_rights({}, [] { return chroot("/"); }), EPERM);
  EXPECT_EQ(without_rights({},
                           [] {
                             const int door = socket(AF_INET, SOCK_STREAM, 0);
                             return listen(door, 1);
                           }),
            EPERM);
}

// The worker would wait for the end of such a socket, should it get one.
TEST_F(SessionRights, NoSocketLingers) {
  const auto set = [](int level, int option) {
    return without_rights({}, [level, option] {
      const int door = socket(AF_INET, SOCK_STREAM, 0);
      const linger value{1, 1000};
      return setsockopt(door, level, option, &value, sizeof(value));
    });
  };
  EXPECT_EQ(set(SOL_SOCKET, SO_LINGER), EPERM);
  EXPECT_EQ(set(SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(set(SOL_SOCKET, SO_REUSEADDR), 0);
  EXPECT_NE(set(IPPROTO_TCP, SO_LINGER), EPERM) << "of another level";
}

TEST_F(SessionRights, DescriptorsAreLimited) {
  EXPECT_EQ(without_rights({},
                           [] {
                             int last = 0;
                             for (int n = 0; n < 2000 && last >= 0; ++n) last = dup(0);
                             return last;
                           }),
            EMFILE);
}

}  // namespace
}  // namespace dhpvm::offload
