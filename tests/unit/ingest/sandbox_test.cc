// What kprof-ingest can do once it is in its sandbox (sandbox.h): ingest_sandbox tries.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <sstream>
#include <string>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer opens files, and has no sandbox";
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd out(ends[0]);
    UniqueFd in(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(in.get(), STDOUT_FILENO);
      ::execl(KPROF_BIN_DIR "/ingest_sandbox", "ingest_sandbox", nullptr);
      ::_exit(127);
    }
    in.Reset();
    std::string said;
    char more[4096];
    for (ssize_t got = 0; (got = ::read(out.get(), more, sizeof(more))) > 0;)
      said.append(more, static_cast<size_t>(got));
    ASSERT_EQ(::waitpid(child, &status_, 0), child);
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      tries_[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
    }
  }

  int status_ = 0;
  std::map<std::string, std::string> tries_;
};

TEST_F(SandboxTest, NothingOutsideIsReached) {
  for (const char* what : {"open a file", "open a file to write", "make a socket", "make a local socket",
                           "make a pair of sockets", "make a pipe", "fork", "clone a process", "start a program",
                           "signal its parent", "signal a thread of its parent", "signal a thread by its number",
                           "trace its parent", "read its parent's memory", "raise its limits", "look for a file",
                           "remove a file", "have more memory than its limit"}) {
    EXPECT_EQ(tries_[what], "refused") << what;
  }
}

TEST_F(SandboxTest, ComputingWorks) {
  for (const char* what :
       {"signal itself", "have its time of processors and no more", "read a descriptor that it has",
        "have memory up to its limit", "compute with threads", "learn that there is no more memory"}) {
    EXPECT_EQ(tries_[what], "done") << what;
  }
}

TEST_F(SandboxTest, OneThatAbortsDiesOfIt) {
  EXPECT_TRUE(WIFSIGNALED(status_) && WTERMSIG(status_) == SIGABRT) << status_;
}

}  // namespace
}  // namespace kprof
