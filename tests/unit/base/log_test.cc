#include "daemon/base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {
namespace {

// Standard error as a pipe, until it goes.
class PipedStandardError {
 public:
  PipedStandardError() {
    int ends[2];
    KPROF_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    read_.Reset(ends[0]);
    UniqueFd write(ends[1]);
    real_.Reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(write.get(), STDERR_FILENO);
  }
  ~PipedStandardError() { ::dup2(real_.get(), STDERR_FILENO); }

  std::string TakeAll() {
    std::string text;
    pollfd ready{read_.get(), POLLIN, 0};
    char block[4096];
    while (::poll(&ready, 1, 0) > 0) {
      ssize_t size = ::read(read_.get(), block, sizeof block);
      if (size <= 0) break;
      text.append(block, static_cast<size_t>(size));
    }
    return text;
  }

 private:
  UniqueFd read_, real_;
};

constexpr size_t kStampSize = std::string_view("2026-11-21T10:00:00.123Z ").size();

// What is written of it, behind the time and without its line end.
std::string Written(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  PipedStandardError standard_error;
  Log(level, event, fields);
  const std::string line = standard_error.TakeAll();
  EXPECT_GT(line.size(), kStampSize);
  return line.substr(kStampSize, line.size() - kStampSize - 1);
}

TEST(Log, WritesTimeLevelEventAndFieldsOnOneLine) {
  EXPECT_EQ(Written(LogLevel::kWarning, "run ended", {{"run", "01j"}, {"state", "done"}}),
            "warning run ended run=01j state=done");
  PipedStandardError standard_error;
  LogInfo("it");
  EXPECT_THAT(standard_error.TakeAll(),
              testing::MatchesRegex("20[0-9][0-9]-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+[.][0-9]+Z info it\n"));
}

TEST(Log, QuotesValuesThatWouldNotReadBack) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"", "\"\""},
      {"two words", "\"two words\""},
      {"a=b", "\"a=b\""},
      {"a\"b", "\"a\\\"b\""},
      {"a\\b", "\"a\\\\b\""},
      {"a\nb", "\"a\\nb\""},
      {std::string("a\0b", 3), "\"a\\x00b\""},
      {"a\x7f", "\"a\\x7f\""},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"\xff\xfe", "\"\\xff\\xfe\""},
      {"a b\xff", "\"a b\\xff\""},
  };
  for (const auto& [value, expected] : cases)
    EXPECT_EQ(Written(LogLevel::kInfo, "it", {{"k", value}}), "info it k=" + expected);
}

TEST(Log, HoldsNothingThatDrivesATerminal) {
  EXPECT_EQ(Written(LogLevel::kInfo, "it", {{"k", "/x\u009b2J\x1b[2J"}}), "info it k=\"/x\\x9b2J\\x1b[2J\"");
  EXPECT_EQ(Written(LogLevel::kInfo, "it", {{"k", "a\u202eb\u2066c\u2028"}}),
            "info it k=\"a\\u{202e}b\\u{2066}c\\u{2028}\"");
}

TEST(Log, GoesToTheJournalOnlyWhereThatReadsThisVeryFile) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  struct stat info {};
  ASSERT_EQ(::fstat(write.get(), &info), 0);
  const std::string stream = std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(IsJournal(write.get()));
  ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
  EXPECT_TRUE(IsJournal(write.get()));
  EXPECT_FALSE(IsJournal(STDERR_FILENO)) << "redirected since";
  ::setenv("JOURNAL_STREAM", (stream + "0").c_str(), 1);
  EXPECT_FALSE(IsJournal(write.get()));
  ::unsetenv("JOURNAL_STREAM");
}

TEST(Log, DropsWhatNobodyReadsAndSaysHowMuch) {
  PipedStandardError standard_error;
  constexpr int kLines = 5000;
  const int64_t dropped_before = LogLinesDropped();
  for (int i = 0; i < kLines; ++i) LogInfo("a line that fills the pipe", {{"number", std::to_string(i)}});
  const std::string kept = standard_error.TakeAll();
  const auto count = std::count(kept.begin(), kept.end(), '\n');
  ASSERT_GT(count, 0);
  ASSERT_LT(count, kLines);
  EXPECT_EQ(LogLinesDropped() - dropped_before, kLines - count);
  LogInfo("again");
  const std::string after = standard_error.TakeAll();
  EXPECT_NE(after.find("warning log lines were dropped count=" + std::to_string(kLines - count) + "\n"), after.npos)
      << after;
  EXPECT_NE(after.find("info again\n"), after.npos);
}

TEST(Log, CutsALineThatAPipeMightNotTakeAtOnce) {
  PipedStandardError standard_error;
  LogInfo("long", {{"value", std::string(100'000, 'x')}});
  const std::string line = standard_error.TakeAll();
  EXPECT_LE(line.size(), 4096u);
  EXPECT_TRUE(line.ends_with("...\n")) << line.substr(line.size() - 20);
}

}  // namespace
}  // namespace kprof
