#include "daemon/launch/launch_error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

std::string Said(const LaunchFailure& failure, const LaunchRequest& request) {
  Status status = LaunchError(failure, SubjectOf(request));
  return std::string(ErrorName(status.code())) + ": " + status.ToString();
}

TEST(LaunchError, NamesTheActTheCauseAndTheRemedy) {
  const LaunchRequest name{.argv = {"foo"}, .environment = {"PATH=/usr/bin:/bin"}, .cwd = "/x"};
  const LaunchRequest path{.argv = {"./foo"}, .cwd = "/x"};
  EXPECT_EQ(Said({"exec", ENOENT}, name),
            "spawn_failed: start 'foo': no such program in PATH /usr/bin:/bin; check the name or give a path");
  EXPECT_EQ(Said({"exec", ENOENT}, path), "spawn_failed: start './foo': no such program, seen from /x; check the path");
  EXPECT_EQ(Said({"exec", EACCES}, path),
            "spawn_failed: start './foo': it may not be executed; check that it is a program, its mode (chmod +x), and "
            "the modes of the folders above it");
  EXPECT_EQ(
      Said({"exec", E2BIG}, path),
      "spawn_failed: start './foo': command line and environment, 6 bytes, are more than the kernel takes; shorten "
      "them (a single string may have 128 KiB), or raise the stack limit (ulimit -s)");
  EXPECT_EQ(Said({"exec", ENOEXEC}, path),
            "spawn_failed: start './foo': it is not a program of this machine; a script needs a first line such as "
            "#!/bin/sh; a binary must be built for this processor");
  EXPECT_EQ(
      Said({"interpreter", ENOENT}, path),
      "spawn_failed: start './foo': the interpreter or loader that it names is not there; check its first line (#!)");
  EXPECT_EQ(Said({"chdir", EACCES}, path),
            "spawn_failed: start in '/x': permission denied; check that the folder exists and that you may enter it");
  EXPECT_EQ(
      Said({"setrlimit", EINVAL}, path),
      "spawn_failed: start './foo': set its resource limits: Invalid argument; check the limits that were asked for");
  EXPECT_EQ(
      Said({"fork", EAGAIN}, path),
      "spawn_failed: start './foo': no process can be made: Resource temporarily unavailable; end other processes or "
      "raise the limit (ulimit -u)");
  EXPECT_EQ(Said({"pipe", EMFILE}, path), "spawn_failed: start './foo': pipe: Too many open files");
}

TEST(LaunchError, IsShortAndUtf8WhateverTheBytes) {
  LaunchRequest request{.argv = {"\xff\xfe"}, .environment = {"PATH=" + std::string(100'000, '\x80')}, .cwd = "/\xc3"};
  for (const char* step : {"exec", "chdir", "fork", "\xff"}) {
    Status status = LaunchError({step, ENOENT}, SubjectOf(request));
    EXPECT_TRUE(IsUtf8(status.ToString()));
    EXPECT_LT(status.ToString().size(), 3000u);
  }
  EXPECT_EQ(LaunchError({"chdir", ENOENT}, SubjectOf(request)).what(), "start in '/\\xc3'");
}

}  // namespace
}  // namespace kprof
