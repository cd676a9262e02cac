#include "daemon/helper/helper_jobs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

bool IsReadable(int fd, int wait_ms) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, wait_ms) > 0;
}

TEST(HelperJob, AnswersOnce) {
  Result<HelperJob> job = HelperJob::Start([] { return JobAnswer{HelperSwept{7}, UniqueFd()}; }, 5);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(IsReadable(job->fd(), 60'000));
  EXPECT_EQ(job->TakeAnswer().message, HelperMessage(HelperSwept{7}));
  EXPECT_EQ(job->by_mono_ns(), 5);
  ::waitpid(job->pid(), nullptr, 0);
}

TEST(HelperJob, StandsForAProcessThatDies) {
  Result<HelperJob> job = HelperJob::Start([]() -> JobAnswer { ::_exit(1); }, 5);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(IsReadable(job->fd(), 60'000));
  EXPECT_TRUE(std::holds_alternative<HelperRefused>(job->TakeAnswer().message));
  ::waitpid(job->pid(), nullptr, 0);
}

JobFinding FindingOf(const std::function<JobFinding()>& work) {
  JobFinding finding;
  auto conclude = [&finding](const JobFinding& found) {
    finding = found;
    return HelperMessage(HelperDone{});
  };
  Result<HelperJob> job = HelperJob::StartFinding(work, 5, conclude);
  EXPECT_TRUE(job.ok());
  EXPECT_TRUE(IsReadable(job->fd(), 60'000));
  EXPECT_EQ(job->TakeAnswer().message, HelperMessage(HelperDone{}));
  ::waitpid(job->pid(), nullptr, 0);
  return finding;
}

TEST(HelperJob, BringsWhatItsProcessFinds) {
  for (size_t size : {0, 1, 300'000}) {
    const std::string bytes(size, 'x');
    EXPECT_EQ(FindingOf([&] { return bytes; }), JobFinding(bytes)) << size;
  }
  const HelperRefused refused{ErrorCode::kNotPermitted, "no", "never"};
  EXPECT_EQ(FindingOf([&] { return refused; }), JobFinding(refused));
}

TEST(HelperJob, AFindingThatDoesNotComeIsARefusal) {
  EXPECT_TRUE(std::holds_alternative<HelperRefused>(FindingOf([]() -> JobFinding { ::_exit(1); })));
  EXPECT_TRUE(std::holds_alternative<HelperRefused>(FindingOf([] { return std::string(10 << 20, 'x'); })));
  EXPECT_TRUE(std::holds_alternative<HelperRefused>(FindingOf([]() -> JobFinding {
    SendPacket(3, "nonsense");
    ::_exit(0);
  })));
}

TEST(HelperJob, WhatFindsHasNoDescriptorOfOurs) {
  const UniqueFd ours(::fcntl(0, F_DUPFD, 100));
  ASSERT_TRUE(ours.valid());
  const JobFinding found = FindingOf([&] { return std::string(::fcntl(ours.get(), F_GETFD) < 0 ? "closed" : "open"); });
  EXPECT_EQ(found, JobFinding(std::string("closed")));
}

TEST(HelperJob, WhatWorksHasNoDescriptorOfOurs) {
  const UniqueFd ours(::fcntl(0, F_DUPFD, 100));
  ASSERT_TRUE(ours.valid());
  Result<HelperJob> job = HelperJob::Start(
      [&] {
        const bool is_closed = ::fcntl(ours.get(), F_GETFD) < 0;
        return JobAnswer{HelperSwept{is_closed ? 1u : 0u, 0}, UniqueFd()};
      },
      5);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(IsReadable(job->fd(), 60'000));
  EXPECT_EQ(job->TakeAnswer().message, HelperMessage(HelperSwept{1, 0}));
  ::waitpid(job->pid(), nullptr, 0);
}

TEST(HelperJob, EndsWithTheHelperIfItSaysSo) {
  SocketPair ends = *MakeSocketPair(SOCK_STREAM);
  const pid_t helper = ::fork();
  if (helper == 0) {
    Result<HelperJob> job = HelperJob::Start(
        [helper = ::getpid()]() -> JobAnswer {
          EndWithTheHelper(helper);
          while (true) ::pause();
        },
        5);
    const pid_t pid = job.ok() ? job->pid() : -1;
    [[maybe_unused]] const ssize_t sent = ::send(ends.theirs.get(), &pid, sizeof pid, MSG_NOSIGNAL);
    while (true) ::pause();
  }
  ASSERT_GT(helper, 1);
  pid_t pid = -1;
  ASSERT_TRUE(IsReadable(ends.ours.get(), 60'000));
  ASSERT_EQ(::recv(ends.ours.get(), &pid, sizeof pid, 0), static_cast<ssize_t>(sizeof pid));
  ASSERT_GT(pid, 1);
  const UniqueFd job(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_TRUE(job.valid());
  ::kill(helper, SIGKILL);
  ::waitpid(helper, nullptr, 0);
  EXPECT_TRUE(IsReadable(job.get(), 60'000));
}

// It may be reaped by then, and its number another process's.
TEST(HelperJob, KillsNothingThatHasAnswered) {
  Result<HelperJob> job = HelperJob::Start(
      []() -> JobAnswer {
        SendPacket(3, EncodeHelperPacket({0, HelperDone{}}));
        while (true) ::pause();
      },
      5);
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(IsReadable(job->fd(), 60'000));
  job->Kill();
  ::kill(job->pid(), SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(job->pid(), &status, 0), job->pid());
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

// As a child that its user stops before it gets to its program: nobody waits for it, and it ends when it is late.
TEST(HelperJob, AwaitsAProcessThatWasForkedElsewhere) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ASSERT_GT(pid, 1);
  SocketPair silent = *MakeSocketPair(SOCK_STREAM);
  HelperJob job = HelperJob::Await(pid, std::move(silent.ours), 5, [](int) {
    return JobAnswer{HelperStarted{false}, UniqueFd()};
  });
  EXPECT_FALSE(IsReadable(job.fd(), 0));
  job.Kill();
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));

  silent.theirs.Reset();
  ASSERT_TRUE(IsReadable(job.fd(), 60'000));
  EXPECT_EQ(job.TakeAnswer().message, HelperMessage(HelperStarted{false}));
}

}  // namespace
}  // namespace kprof
