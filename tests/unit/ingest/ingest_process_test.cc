#include "daemon/ingest/channel/ingest_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

const std::string kNonsense = KPROF_BIN_DIR "/ingest_nonsense";

class IngestProcessTest : public testing::Test {
 protected:
  IngestProcessTest() : source_(::memfd_create("source", MFD_CLOEXEC)) {}

  Result<IngestProcess> Start(const std::string& word, OwnChildren* own = nullptr,
                              const std::string& program = kNonsense) {
    return IngestProcess::Start(program, source_.get(), {.name = word + "-x"}, own);
  }
  // Frames up to the failure, which it returns.
  static Status Drain(IngestProcess& process) {
    while (true) {
      const Result<std::optional<ReceivedFrame>> frame = process.Receive(10'000);
      if (!frame.ok()) return frame.status();
      if (!*frame) return Fail(ErrorCode::kTimedOut, "wait", "nothing came");
    }
  }

  // The child that it has entered; 0: none. Of all that live: pids begin again at the machine's limit.
  static pid_t ChildOf(const OwnChildren& own) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (own.Has(pid)) return pid;
    }
    return 0;
  }

  UniqueFd source_;
};

TEST_F(IngestProcessTest, WhatItSaysIsReceived) {
  Result<IngestProcess> process = Start("good");
  ASSERT_TRUE(process.ok()) << process.status().ToString();
  for (const IngestFrame type : {IngestFrame::kHello, IngestFrame::kString, IngestFrame::kDone}) {
    const Result<std::optional<ReceivedFrame>> frame = process->Receive(10'000);
    ASSERT_TRUE(frame.ok() && *frame);
    EXPECT_EQ((*frame)->type, type);
  }
}

TEST_F(IngestProcessTest, WhatItPrintsIsNotOurs) {
  const UniqueFd log(::memfd_create("log", MFD_CLOEXEC));
  const UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  ASSERT_EQ(::dup2(log.get(), STDERR_FILENO), STDERR_FILENO);
  Result<IngestProcess> process = Start("shout");
  ASSERT_EQ(::dup2(before.get(), STDERR_FILENO), STDERR_FILENO);
  ASSERT_TRUE(process.ok()) << process.status().ToString();
  for (const IngestFrame type : {IngestFrame::kHello, IngestFrame::kString, IngestFrame::kString}) {
    const Result<std::optional<ReceivedFrame>> frame = process->Receive(10'000);
    ASSERT_TRUE(frame.ok() && *frame);
    EXPECT_EQ((*frame)->type, type);
  }
  EXPECT_EQ(::lseek(log.get(), 0, SEEK_END), 0);
}

TEST_F(IngestProcessTest, NothingIsReceivedWhereNothingIsSaid) {
  Result<IngestProcess> process = Start("mute");
  ASSERT_TRUE(process.ok());
  const Result<std::optional<ReceivedFrame>> frame = process->Receive(1);
  EXPECT_TRUE(frame.ok() && !*frame);
}

TEST_F(IngestProcessTest, AFrameThatComesByteByByteHoldsUpNobody) {
  Result<IngestProcess> process = Start("trickle");
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->Receive(10'000).ok());  // the greeting
  ASSERT_TRUE(process->Receive(10'000).ok());
  const Result<std::optional<ReceivedFrame>> frame = process->Receive(50);
  EXPECT_TRUE(frame.ok() && !*frame);
}

TEST_F(IngestProcessTest, HowItEndedIsSaid) {
  const std::tuple<const char*, ErrorCode, const char*> cases[] = {
      {"crash", ErrorCode::kInternal, "(SIGABRT)"},
      {"leave", ErrorCode::kInternal, "ended with status 3"},
      {"poor", ErrorCode::kBadInput, "more memory than an import may have"},
      {"slow", ErrorCode::kBadInput, "more time of processors"}};
  for (const auto& [word, code, why] : cases) {
    Result<IngestProcess> process = Start(word);
    ASSERT_TRUE(process.ok());
    const Status status = Drain(*process);
    EXPECT_EQ(status.code(), code) << word;
    EXPECT_NE(status.why().find(why), std::string::npos) << status.ToString();
    EXPECT_FALSE(status.remedy().empty());
  }
}

TEST_F(IngestProcessTest, OneThatOnlyClosesItsSocketIsEnded) {
  Result<IngestProcess> process = Start("close");
  ASSERT_TRUE(process.ok());
  EXPECT_NE(Drain(*process).why().find("(SIGKILL)"), std::string::npos);
}

TEST_F(IngestProcessTest, AnnouncedBytesBeyondMeasureAreRefused) {
  Result<IngestProcess> process = Start("huge");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(Drain(*process).code(), ErrorCode::kStorageBroken);
}

TEST_F(IngestProcessTest, AProgramThatIsNotThereIsNotStarted) {
  OwnChildren own;
  for (OwnChildren* in : {static_cast<OwnChildren*>(nullptr), &own}) {
    const Result<IngestProcess> process = Start("good", in, "/nowhere/kprof-ingest");
    ASSERT_FALSE(process.ok());
    EXPECT_EQ(process.status().code(), ErrorCode::kToolMissing);
    EXPECT_NE(process.status().ToString().find("/nowhere/kprof-ingest"), std::string::npos);
  }
}

TEST_F(IngestProcessTest, AProgramThatLeavesAtOnceIsSaidToHaveEnded) {
  Result<IngestProcess> process = Start("good", nullptr, "/bin/false");
  ASSERT_TRUE(process.ok()) << process.status().ToString();
  EXPECT_NE(Drain(*process).why().find("ended with status 1"), std::string::npos);
}

TEST_F(IngestProcessTest, OfOurEnvironmentItHasNothing) {
  ASSERT_EQ(::setenv("KPROF_TEST_SECRET", "s3cr3t", 1), 0);
  OwnChildren own;
  Result<IngestProcess> process = Start("hang", &own);
  ::unsetenv("KPROF_TEST_SECRET");
  ASSERT_TRUE(process.ok());
  const Result<std::optional<ReceivedFrame>> hello = process->Receive(10'000);  // it is itself by then
  ASSERT_TRUE(hello.ok() && *hello);
  std::ifstream file("/proc/" + std::to_string(ChildOf(own)) + "/environ");
  std::vector<std::string> variables;
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.find("SAN_OPTIONS=") == std::string::npos) variables.push_back(variable);
  }
  EXPECT_EQ(variables, std::vector<std::string>{});
}

TEST_F(IngestProcessTest, AChildIsEnteredWhileItLivesAndGoneWithIt) {
  OwnChildren own;
  std::optional<Result<IngestProcess>> process = Start("mute", &own);
  ASSERT_TRUE(process->ok());
  const pid_t child = ChildOf(own);
  ASSERT_NE(child, 0);
  EXPECT_EQ(::kill(child, 0), 0);
  process.reset();
  EXPECT_FALSE(own.Has(child));
  EXPECT_NE(::kill(child, 0), 0);
}

}  // namespace
}  // namespace kprof
