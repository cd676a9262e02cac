#include "daemon/process/worker/tool_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tests/fakes/base/program_file.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/stand_ins/neuron/neuron_stand_in.h"

namespace kprof {
namespace {

using Heard = ToolProcess::Heard;
using testing::EndsWith;

constexpr int kLongMs = 20'000;

Result<ToolProcess> StartScript(const std::string& script, OwnChildren* own = nullptr) {
  return ToolProcess::Start({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, own);
}

// All that it prints.
std::string ReadAll(ToolProcess& child) {
  std::string out;
  while (child.Read(out, kLongMs) == Heard::kBytes) {
  }
  return out;
}

// One line that it prints.
std::string ReadLine(ToolProcess& child) {
  std::string out;
  while (!out.ends_with('\n') && child.Read(out, kLongMs) == Heard::kBytes) {
  }
  return out.substr(0, out.size() - 1);
}

// Also of one that nobody reaps.
class OtherProcess {
 public:
  explicit OtherProcess(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  bool ends() const {
    pollfd ended{fd_.get(), POLLIN, 0};
    return fd_.valid() && ::poll(&ended, 1, kLongMs) == 1;
  }

 private:
  const UniqueFd fd_;
};

TEST(ToolProcess, IsReadUntilItHasEnded) {
  Result<ToolProcess> child = StartScript("echo one; echo two; exit 3");
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  EXPECT_EQ(ReadAll(*child), "one\ntwo\n");
  const std::optional<int> ended = child->AwaitEnd(kLongMs);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(HowItEnded(*ended), "status 3");
}

TEST(ToolProcess, SaysBySignalHowItEnded) {
  Result<ToolProcess> child = StartScript("kill -SEGV $$");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadAll(*child), "");
  EXPECT_EQ(HowItEnded(*child->AwaitEnd(kLongMs)), "signal 11 (SIGSEGV)");
}

TEST(ToolProcess, IsNotThereWhereThereIsNoProgram) {
  const Status status = ToolProcess::Start({"/none/neuron-ls"}, {}, nullptr).status();
  EXPECT_EQ(status.code(), ErrorCode::kToolMissing);
  EXPECT_EQ(status.what(), "start /none/neuron-ls");
}

TEST(ToolProcess, CannotBeStartedFromWhatIsNoProgram) {
  const TemporaryFolder folder(TemporaryFolder::Holds::kPrograms);
  std::ofstream(folder / "text") << "text";
  WriteProgram(folder / "nonsense", "nonsense");
  OwnChildren own;
  for (const char* name : {"text", "nonsense"}) {
    EXPECT_EQ(ToolProcess::Start({folder / name}, {}, &own).status().code(), ErrorCode::kSpawnFailed) << name;
  }
  EXPECT_EQ(ChildOf(own), 0) << "one is left";
}

TEST(ToolProcess, IsEnteredUntilItIsReaped) {
  OwnChildren own;
  pid_t pid = -1;
  {
    Result<ToolProcess> child = StartScript("echo $$; exec sleep 1000", &own);
    ASSERT_TRUE(child.ok());
    pid = std::stoi(ReadLine(*child));
    EXPECT_TRUE(own.Has(pid));
  }
  EXPECT_FALSE(own.Has(pid));
}

TEST(ToolProcess, HasNothingOfOurs) {
  const UniqueFd inherited(::fcntl(STDIN_FILENO, F_DUPFD, 100));  // without CLOEXEC
  const std::string of_descriptors = "for fd in 0 1 2 3 4 5 6 7 8 9 " + std::to_string(inherited.get()) +
                                     "; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; exit 0";
  Result<ToolProcess> child =
      ToolProcess::Start({"/bin/sh", "-c", "echo $A $HOME; " + of_descriptors}, {"A=1", "PATH=/usr/bin:/bin"}, nullptr);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadAll(*child), "1\n0\n1\n2\n");
}

TEST(ToolProcess, WaitsNoLongerThanItIsTold) {
  Result<ToolProcess> child = StartScript("echo noise >&2; exec sleep 1000");
  ASSERT_TRUE(child.ok());
  std::string out;
  EXPECT_EQ(child->Read(out, 0), Heard::kNothing);
  EXPECT_EQ(child->Read(out, 50), Heard::kNothing);
  EXPECT_EQ(child->AwaitEnd(0), std::nullopt);
  EXPECT_EQ(child->AwaitEnd(50), std::nullopt);
  EXPECT_EQ(out, "");
}

TEST(ToolProcess, IsNotWaitedForLongerWhileItNeverStopsComplaining) {
  Result<ToolProcess> child = StartScript("exec 3>&1; exec yes >&2");  // which keeps its output open
  ASSERT_TRUE(child.ok());
  std::string out;
  EXPECT_EQ(child->Read(out, 50), Heard::kNothing);
  EXPECT_EQ(child->AwaitEnd(50), std::nullopt);
}

TEST(ToolProcess, IsWokenFromReading) {
  Result<ToolProcess> child = StartScript("exec sleep 1000");
  ASSERT_TRUE(child.ok());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  ASSERT_EQ(::write(write.get(), "x", 1), 1);
  std::string out;
  EXPECT_EQ(child->Read(out, kLongMs, read.get()), Heard::kNothing);
}

TEST(ToolProcess, KeepsTheTailOfItsErrors) {
  Result<ToolProcess> child = StartScript("seq 1 40000 >&2; printf 'the \\033[31mend\\n' >&2; echo out; exit 1");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadAll(*child), "out\n");
  ASSERT_TRUE(child->AwaitEnd(kLongMs).has_value());
  EXPECT_THAT(child->ErrorTail(), EndsWith("\\n40000\\nthe \\x1b[31mend"));
  EXPECT_LT(child->ErrorTail().size(), 4096U);
}

TEST(ToolProcess, TakesItsGroupWithIt) {
  Result<ToolProcess> child = StartScript("sleep 1000 & echo $!; exit 7");
  ASSERT_TRUE(child.ok());
  const OtherProcess grandchild(std::stoi(ReadLine(*child)));
  std::string out;
  EXPECT_EQ(child->Read(out, kLongMs), Heard::kEnd);  // though the other one has its output open
  EXPECT_EQ(HowItEnded(*child->AwaitEnd(kLongMs)), "status 7");
  EXPECT_TRUE(grandchild.ends());
}

TEST(ToolProcess, IsAskedToEndFirst) {
  const TemporaryFolder folder;
  Result<ToolProcess> child = StartScript("trap 'echo asked > " + (folder / "asked") +
                                          "; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadLine(*child), "ready");
  child->End(kLongMs);
  std::string word;
  std::ifstream(folder / "asked") >> word;
  EXPECT_EQ(word, "asked");
}

TEST(ToolProcess, IsKilledWhenItDoesNotEnd) {
  Result<ToolProcess> child = StartScript("trap '' TERM; echo $$; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.ok());
  const OtherProcess process(std::stoi(ReadLine(*child)));
  child->End(50);
  EXPECT_TRUE(process.ends());
  EXPECT_EQ(child->AwaitEnd(kLongMs), std::nullopt);  // it was reaped already
}

TEST(ToolProcess, DiesWithTheThreadThatStartedIt) {
  std::optional<Result<ToolProcess>> child;
  std::thread([&] { child.emplace(StartScript("exec sleep 1000")); }).join();
  ASSERT_TRUE(child->ok());
  const std::optional<int> ended = (*child)->AwaitEnd(kLongMs);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(HowItEnded(*ended), "signal 9 (SIGKILL)");
}

TEST(ToolProcess, IsMovedAsOne) {
  Result<ToolProcess> child = StartScript("echo here; exit 4");
  ASSERT_TRUE(child.ok());
  ToolProcess moved = *std::move(child);
  EXPECT_EQ(ReadAll(moved), "here\n");
  EXPECT_EQ(HowItEnded(*moved.AwaitEnd(kLongMs)), "status 4");
}

}  // namespace
}  // namespace kprof
