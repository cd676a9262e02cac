#include "daemon/launch/output_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/crypto/sha256.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/memory_files.h"
#include "tests/programs/flood_pattern.h"

namespace kprof {
namespace {

std::string Pattern(int64_t begin, int64_t end) {
  std::string bytes;
  for (int64_t at = begin; at < end; ++at) bytes += FloodByte(at);
  return bytes;
}

class OutputLogTest : public testing::Test {
 protected:
  OutputLogTest() {
    log_ = UniqueFd(::open(log_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    progress_ = UniqueFd(::open(progress_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  OutputLogWriter Writer(OutputLimits limits, OutputStream stream = OutputStream::kStdout) {
    return OutputLogWriter(log_.get(), progress_.get(), stream, limits);
  }
  FinishedOutput Finish(OutputStream stream = OutputStream::kStdout) {
    auto finished = FinishOutput(*files_, log_path_, progress_path_, stream);
    EXPECT_TRUE(finished.ok()) << finished.status().ToString();
    return finished.ok() ? *finished : FinishedOutput();
  }
  OutputPiece Live(int64_t offset, int64_t limit_bytes = 1 << 30, OutputStream stream = OutputStream::kStdout) {
    auto piece = ReadLiveOutput(*files_, log_path_, progress_path_, stream, offset, limit_bytes);
    EXPECT_TRUE(piece.ok()) << piece.status().ToString();
    return piece.ok() ? *piece : OutputPiece();
  }
  // Puts a state into the progress file as a crash may leave it.
  void SetProgress(const OutputProgress& progress) {
    auto bytes = EncodeOutputProgress(progress);
    ASSERT_EQ(::pwrite(progress_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  static std::string Marker(int64_t dropped) {
    return "\n[kprof: " + std::to_string(dropped) + " bytes dropped here]\n";
  }

  const TemporaryFolder folder_;
  const std::string log_path_ = folder_ / "stdout.log";
  const std::string progress_path_ = folder_ / "output.progress";
  UniqueFd log_;
  UniqueFd progress_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

struct Sizes {
  int64_t head;
  int64_t tail;
  int64_t printed;
};

TEST_F(OutputLogTest, KeepsHeadAndTailOfWhateverIsPrintedInWhateverPieces) {
  std::mt19937 random(7);
  for (const auto& [head, tail, printed] : std::vector<Sizes>{{10, 10, 0},
                                                              {10, 10, 1},
                                                              {10, 10, 10},
                                                              {10, 10, 11},
                                                              {10, 10, 20},
                                                              {10, 10, 21},
                                                              {10, 10, 1000},
                                                              {0, 10, 5},
                                                              {0, 10, 25},
                                                              {10, 0, 10},
                                                              {10, 0, 25},
                                                              {0, 0, 25},
                                                              {7, 1, 100},
                                                              {1, 64, 65},
                                                              {100, 300, 5000}}) {
    for (int64_t largest_piece : {1, 3, 10, 17, 5000}) {
      SCOPED_TRACE(testing::Message() << head << " " << tail << " " << printed << " in pieces to " << largest_piece);
      OutputLimits limits{head, tail};
      log_ = UniqueFd(::open(log_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      OutputLogWriter writer = Writer(limits);
      for (int64_t at = 0; at < printed;) {
        int64_t end = std::min(printed, at + 1 + static_cast<int64_t>(random()) % largest_piece);
        writer.Write(Pattern(at, end));
        at = end;
        // A reader that starts at 0 sees the head, then the oldest that is there, and misses exactly what is gone.
        std::string seen;
        int64_t offset = 0;
        while (true) {
          OutputPiece piece = Live(offset);
          EXPECT_EQ(piece.next_offset - static_cast<int64_t>(piece.bytes.size()) - piece.dropped_bytes, offset);
          EXPECT_EQ(piece.bytes,
                    Pattern(piece.next_offset - static_cast<int64_t>(piece.bytes.size()), piece.next_offset));
          if (piece.next_offset == offset) break;
          offset = piece.next_offset;
        }
        EXPECT_EQ(offset, end);
      }
      const int64_t dropped = std::max<int64_t>(0, printed - head - tail);
      EXPECT_EQ(writer.written_bytes(), printed);
      EXPECT_EQ(writer.dropped_bytes(), dropped);
      EXPECT_LE(ReadFile(log_path_).size(), static_cast<size_t>(head + tail));
      std::string expected = Pattern(0, printed);
      if (dropped > 0) expected = Pattern(0, head) + Marker(dropped) + Pattern(printed - tail, printed);
      for (int time = 0; time < 2; ++time) {  // the second is what a crash after the first would do
        FinishedOutput finished = Finish();
        EXPECT_EQ(ReadFile(log_path_), expected);
        if (printed == 0) {
          EXPECT_FALSE(std::filesystem::exists(log_path_));
          continue;
        }
        EXPECT_EQ(finished.printed_bytes, printed);
        EXPECT_EQ(finished.dropped_bytes, dropped);
        EXPECT_EQ(finished.size_bytes, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(finished.sha256, Sha256Of(expected));
      }
    }
  }
}

TEST_F(OutputLogTest, KeepsTheStreamsApartInOneProgressFile) {
  OutputLimits limits{100, 100};
  std::string other_path = folder_ / "stderr.log";
  UniqueFd other(::open(other_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  OutputLogWriter out = Writer(limits);
  OutputLogWriter err(other.get(), progress_.get(), OutputStream::kStderr, limits);
  out.Write(std::string("out"));
  err.Write(std::string("error"));
  EXPECT_EQ(Live(0).bytes, "out");
  EXPECT_EQ(ReadLiveOutput(*files_, other_path, progress_path_, OutputStream::kStderr, 0, 100)->bytes, "error");
}

TEST_F(OutputLogTest, ReadsNoMoreThanAskedForAndGoesOnFromThere) {
  OutputLimits limits{10, 10};
  OutputLogWriter writer = Writer(limits);
  writer.Write(Pattern(0, 15));
  OutputPiece piece = Live(3, 4);
  EXPECT_EQ(piece.bytes, Pattern(3, 7));
  EXPECT_EQ(piece.next_offset, 7);
  EXPECT_EQ(Live(7, 100).bytes, Pattern(7, 10));
  EXPECT_EQ(Live(10, 2).bytes, Pattern(10, 12));
  EXPECT_EQ(Live(15, 100).bytes, "");
  EXPECT_EQ(Live(15, 100).next_offset, 15);
  EXPECT_EQ(Live(99, 100).next_offset, 99);
  EXPECT_EQ(Live(-1, 2).bytes, Pattern(0, 2));
}

TEST_F(OutputLogTest, ReadsNothingBeforeAnythingWasPrinted) {
  OutputPiece piece = Live(0);
  EXPECT_EQ(piece.bytes, "");
  EXPECT_EQ(piece.next_offset, 0);
}

TEST_F(OutputLogTest, GoesOnCountingWhenTheDiskIsFull) {
  log_ = UniqueFd(::open("/dev/full", O_RDWR | O_CLOEXEC));
  OutputLimits limits{10, 10};
  OutputLogWriter writer = Writer(limits);
  writer.Write(Pattern(0, 7));
  EXPECT_EQ(writer.first_error(), ENOSPC);
  writer.Write(Pattern(7, 50));
  EXPECT_EQ(writer.written_bytes(), 50);
  EXPECT_EQ(writer.dropped_bytes(), 50);
  OutputPiece piece = Live(0);
  EXPECT_EQ(piece.bytes, "");
  EXPECT_EQ(piece.dropped_bytes, 50);
  EXPECT_EQ(piece.next_offset, 50);
}

TEST_F(OutputLogTest, MarksBytesThatNoDiskTookWhereTheyAreMissing) {
  // As a writer leaves it that could write 13 bytes of 40.
  ASSERT_EQ(::pwrite(log_.get(), Pattern(0, 13).data(), 13, 0), 13);
  SetProgress({.limits = {10, 10}, .claimed_bytes = 13, .written_bytes = 13, .printed_bytes = 40});
  FinishedOutput finished = Finish();
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 13) + Marker(27));
  EXPECT_EQ(finished.dropped_bytes, 27);
  EXPECT_EQ(Finish().sha256, finished.sha256);
}

TEST_F(OutputLogTest, TrustsNoRingByteThatWasClaimedWhenTheWriterDied) {
  OutputLimits limits{10, 10};
  {
    OutputLogWriter writer = Writer(limits);
    writer.Write(Pattern(0, 25));  // the ring holds 15 .. 25
  }
  SetProgress({.limits = limits, .claimed_bytes = 29, .written_bytes = 25, .printed_bytes = 25});
  FinishedOutput finished = Finish();
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 10) + Marker(9) + Pattern(19, 25));
  EXPECT_EQ(finished.printed_bytes, 25);
  EXPECT_EQ(finished.dropped_bytes, 9);
  EXPECT_EQ(Finish().dropped_bytes, 9);
}

TEST_F(OutputLogTest, CountsAllThatIsMissingInOneLineWhereNothingOfTheEndIsKept) {
  {
    OutputLogWriter writer = Writer({10, 10});
    writer.Write(Pattern(0, 25));
  }
  SetProgress({.limits = {10, 10}, .claimed_bytes = 45, .written_bytes = 25, .printed_bytes = 60});
  EXPECT_EQ(Finish().dropped_bytes, 50);
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 10) + Marker(50));
}

TEST_F(OutputLogTest, TakesBytesThatTheWriterHadNoTimeToNote) {
  OutputLimits limits{10, 10};
  OutputLogWriter writer = Writer(limits);
  writer.Write(Pattern(0, 5));
  ASSERT_EQ(::pwrite(log_.get(), Pattern(5, 14).data(), 9, 5), 9);
  EXPECT_EQ(Finish().printed_bytes, 14);
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 14));
}

TEST_F(OutputLogTest, FinishesALogThatLostItsEndInACrash) {
  OutputLimits limits{10, 10};
  OutputLogWriter writer = Writer(limits);
  writer.Write(Pattern(0, 25));
  ASSERT_EQ(::ftruncate(log_.get(), 12), 0);
  FinishedOutput finished = Finish();
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 10) + Marker(15));
  EXPECT_EQ(finished.printed_bytes, 25);
  EXPECT_EQ(finished.dropped_bytes, 15);
}

TEST_F(OutputLogTest, CountsALogWithoutProgressAsComplete) {
  ASSERT_EQ(::pwrite(log_.get(), "hello", 5, 0), 5);
  ASSERT_EQ(::unlink(progress_path_.c_str()), 0);
  FinishedOutput finished = Finish();
  EXPECT_EQ(ReadFile(log_path_), "hello");
  EXPECT_EQ(finished.printed_bytes, 5);
  EXPECT_EQ(finished.dropped_bytes, 0);
}

TEST_F(OutputLogTest, CountsALogWithNonsenseForProgressAsComplete) {
  ASSERT_EQ(::pwrite(log_.get(), "hello", 5, 0), 5);
  SetProgress({.limits = {2, 2}, .claimed_bytes = 1, .written_bytes = UINT64_MAX, .printed_bytes = 3});
  EXPECT_EQ(Finish().printed_bytes, 5);
  EXPECT_EQ(ReadFile(log_path_), "hello");
}

// Whenever the writer is killed: where there is a byte, there is what says how to read it.
TEST_F(OutputLogTest, NotesItsLimitsBeforeAByteIsWritten) {
  const OutputProgress expected{.limits = {10, 20}};
  Writer({10, 20});
  Writer({10, 20}, OutputStream::kStderr);
  const std::string bytes = ReadFile(progress_path_);
  ASSERT_EQ(bytes.size(), 2 * kOutputProgressBytes);
  for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    const auto at = std::span<const char>(bytes).subspan(static_cast<size_t>(OutputProgressOffset(stream)));
    EXPECT_EQ(DecodeOutputProgress(at.first<kOutputProgressBytes>()), expected);
  }
}

TEST_F(OutputLogTest, CountsALogWhoseLimitsAreNonsenseAsComplete) {
  constexpr int64_t kMost = kMostOutputLimitBytes;
  for (const OutputLimits& limits : {OutputLimits{-1, 2}, OutputLimits{2, -1}, OutputLimits{kMost + 1, 2},
                                     OutputLimits{2, kMost + 1}, OutputLimits{INT64_MAX, INT64_MAX}}) {
    SCOPED_TRACE(testing::Message() << limits.head_bytes << " " << limits.tail_bytes);
    ASSERT_EQ(::pwrite(log_.get(), "hello", 5, 0), 5);
    SetProgress({.limits = limits, .claimed_bytes = 9, .written_bytes = 9, .printed_bytes = 9});
    EXPECT_EQ(Live(0).bytes, "");
    EXPECT_EQ(Finish().printed_bytes, 5);
    EXPECT_EQ(ReadFile(log_path_), "hello");
  }
  SetProgress({.limits = {kMost, kMost}, .claimed_bytes = 9, .written_bytes = 9, .printed_bytes = 9});
  EXPECT_EQ(Finish().printed_bytes, 9);
}

TEST_F(OutputLogTest, TakesNoProgressOfAnotherVersion) {
  OutputLogWriter writer = Writer({2, 2});
  writer.Write(Pattern(0, 5));
  ASSERT_EQ(::pwrite(progress_.get(), "kprofop2", 8, 0), 8);
  EXPECT_EQ(Live(0).bytes, "");
  EXPECT_EQ(Finish().printed_bytes, 4);
}

// A record at a fixed place, of fixed numbers: what is on disks already must be understood.
TEST_F(OutputLogTest, WritesTheProgressOfVersion1) {
  const auto bytes = EncodeOutputProgress({.limits = {1, 2},
                                           .claimed_bytes = 3,
                                           .written_bytes = 4,
                                           .printed_bytes = 5,
                                           .finished_size_bytes = 6,
                                           .finished_dropped_bytes = 7});
  std::string expected = "kprofop1";
  for (char number = 1; number <= 7; ++number) expected += number + std::string(7, '\0');
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), expected);
}

TEST_F(OutputLogTest, FinishesALogThatIsNotThereAsEmpty) {
  ASSERT_EQ(::unlink(log_path_.c_str()), 0);
  EXPECT_EQ(Finish().size_bytes, 0);
}

TEST_F(OutputLogTest, ReplacesWhatAnEarlierFinishLeftHalfDone) {
  OutputLimits limits{10, 10};
  Writer(limits).Write(Pattern(0, 50));
  std::ofstream(log_path_ + ".partial") << "half";
  Finish();
  EXPECT_EQ(ReadFile(log_path_), Pattern(0, 10) + Marker(30) + Pattern(40, 50));
  EXPECT_FALSE(std::filesystem::exists(log_path_ + ".partial"));
}

// Every state that a power cut during Finish can leave: before the note, after it, after the rename.
TEST_F(OutputLogTest, FinishesAgainAfterACutAtAnyPoint) {
  OutputLimits limits{10, 10};
  Writer(limits).Write(Pattern(0, 50));
  const std::string raw = ReadFile(log_path_);
  const std::string expected = Pattern(0, 10) + Marker(30) + Pattern(40, 50);
  Finish();
  // The note is there, the rename is not.
  std::ofstream(log_path_, std::ios::binary | std::ios::trunc) << raw;
  EXPECT_EQ(Finish().dropped_bytes, 30);
  EXPECT_EQ(ReadFile(log_path_), expected);
}

// A finished file is told by its size: a raw one that has that size already must not pass for it.
TEST_F(OutputLogTest, FinishesAgainAfterACutALogThatHasTheFinishedSizeByChance) {
  const std::string expected = Pattern(0, 10) + Marker(90);
  MemoryFiles files;
  files.Put("log", Pattern(0, static_cast<int64_t>(expected.size())));  // it lost its end in a crash
  const auto progress =
      EncodeOutputProgress({.limits = {10, 60}, .claimed_bytes = 100, .written_bytes = 100, .printed_bytes = 100});
  files.Put("progress", std::string(progress.begin(), progress.end()));
  const MemoryFiles before = files.Copy();
  ASSERT_TRUE(FinishOutput(files, "log", "progress", OutputStream::kStdout).ok());
  ASSERT_EQ(*files.Find("log"), expected);
  for (int64_t at = 1; at <= files.changes(); ++at) {
    MemoryFiles again = before.Copy();
    again.CutAt(at);
    EXPECT_FALSE(FinishOutput(again, "log", "progress", OutputStream::kStdout).ok());
    again.CutAt(0);
    EXPECT_TRUE(FinishOutput(again, "log", "progress", OutputStream::kStdout).ok());
    EXPECT_EQ(*again.Find("log"), expected) << "cut at change " << at;
  }
}

class FullDiskLogTest : public testing::Test {
 protected:
  // A log of the first `raw` bytes, as its writer left it when the disk was full: the rest of what was printed is
  // counted. The disk has no more room than these files and `room_bytes` take.
  void Leave(const OutputProgress& progress, int64_t raw_bytes, int64_t room_bytes) {
    files_ = MemoryFiles();
    files_.Put("log", Pattern(0, raw_bytes));
    const auto record = EncodeOutputProgress(progress);
    files_.Put("progress", std::string(record.begin(), record.end()));
    room_bytes_ = raw_bytes + static_cast<int64_t>(record.size()) + room_bytes;
    files_.SetRoom(room_bytes_);
  }

  // Finishes it, after a cut at any point as well, always to the same.
  FinishedOutput Finish() {
    const MemoryFiles before = files_.Copy();
    Result<FinishedOutput> finished = FinishOutput(files_, "log", "progress", OutputStream::kStdout);
    if (!finished.ok()) {
      ADD_FAILURE() << finished.status().ToString();
      return {};
    }
    EXPECT_EQ(finished->sha256, Sha256Of(*files_.Find("log")));
    EXPECT_EQ(finished->size_bytes, static_cast<int64_t>(files_.Find("log")->size()));
    EXPECT_EQ(files_.Find("log.partial"), nullptr);
    for (int64_t at = 1; at <= files_.changes(); ++at) {
      MemoryFiles again = before.Copy();
      again.SetRoom(room_bytes_);
      again.CutAt(at);
      EXPECT_FALSE(FinishOutput(again, "log", "progress", OutputStream::kStdout).ok());
      again.CutAt(0);
      const Result<FinishedOutput> second = FinishOutput(again, "log", "progress", OutputStream::kStdout);
      EXPECT_TRUE(second.ok()) << second.status().ToString();
      EXPECT_EQ(*again.Find("log"), *files_.Find("log")) << "cut at change " << at;
    }
    return *finished;
  }

  static std::string Marker(int64_t dropped) {
    return "\n[kprof: " + std::to_string(dropped) + " bytes dropped here]\n";
  }

  MemoryFiles files_;
  int64_t room_bytes_ = 0;
};

TEST_F(FullDiskLogTest, FinishesInPlaceWhereThereIsNoRoomForASecondCopy) {
  Leave({.limits = {400, 400}, .claimed_bytes = 500, .written_bytes = 500, .printed_bytes = 900}, 500, 100);
  const FinishedOutput finished = Finish();
  EXPECT_EQ(*files_.Find("log"), Pattern(0, 500) + Marker(400));
  EXPECT_EQ(finished.dropped_bytes, 400);
  EXPECT_EQ(finished.printed_bytes, 900);
}

TEST_F(FullDiskLogTest, GivesUpItsLastBytesWhereThereIsNoRoomAtAll) {
  Leave({.limits = {400, 400}, .claimed_bytes = 500, .written_bytes = 500, .printed_bytes = 900}, 500, 0);
  EXPECT_EQ(Finish().dropped_bytes, 650);
  EXPECT_EQ(*files_.Find("log"), Pattern(0, 250) + Marker(650));
}

TEST_F(FullDiskLogTest, GivesUpATailThatWentRound) {
  Leave({.limits = {400, 400}, .claimed_bytes = 2000, .written_bytes = 2000, .printed_bytes = 2000}, 800, 0);
  EXPECT_EQ(Finish().dropped_bytes, 1600);
  EXPECT_EQ(*files_.Find("log"), Pattern(0, 400) + Marker(1600));
}

TEST_F(FullDiskLogTest, IsNeverAsLongAsTheRawOneWas) {
  for (int64_t tail = 1; tail < 100; ++tail) {
    const auto printed = static_cast<uint64_t>(400 + 10 * tail);
    Leave({.limits = {400, tail}, .claimed_bytes = printed, .written_bytes = printed, .printed_bytes = printed},
          400 + tail, 0);
    EXPECT_GT(Finish().dropped_bytes, 0);
  }
}

TEST_F(OutputLogTest, RemovesALogOfWhichNothingCanBeTold) {
  // Killed within the first write, longer than the ring, of a log that has no head.
  ASSERT_EQ(::pwrite(log_.get(), Pattern(0, 7).data(), 7, 0), 7);
  SetProgress({.limits = {0, 10}, .claimed_bytes = 25, .written_bytes = 0, .printed_bytes = 0});
  EXPECT_EQ(Finish().size_bytes, 0);
  EXPECT_FALSE(std::filesystem::exists(log_path_));
}

TEST_F(OutputLogTest, TakesNoProgressThatDroppedMoreThanWasPrinted) {
  ASSERT_EQ(::pwrite(log_.get(), "hello", 5, 0), 5);
  SetProgress({.limits = {2, 2},
               .claimed_bytes = 5,
               .written_bytes = 5,
               .printed_bytes = 5,
               .finished_size_bytes = 5,
               .finished_dropped_bytes = 6});
  EXPECT_EQ(Finish().dropped_bytes, 0);
}

TEST_F(OutputLogTest, SumsNoMoreOfAHoleThanItsLimitsAllow) {
  const std::string printed = Pattern(0, 30);
  Writer({20, 20}).Write(printed);
  ASSERT_EQ(::ftruncate(log_.get(), int64_t{1} << 43), 0);
  const FinishedOutput finished = Finish();
  EXPECT_EQ(finished.size_bytes, 30);
  EXPECT_EQ(ReadFile(log_path_), printed);
}

TEST_F(OutputLogTest, SumsNoMoreOfAHoleThanALogCanBeLong) {
  ASSERT_EQ(::ftruncate(log_.get(), int64_t{1} << 43), 0);
  EXPECT_EQ(Finish().size_bytes, 2 * kMostOutputLimitBytes);
}

TEST_F(OutputLogTest, TakesNoProgressThatFinishedMoreThanItsLimitsAllow) {
  OutputProgress lie{.limits = {20, 20}, .claimed_bytes = 10, .written_bytes = 10, .printed_bytes = 10};
  lie.finished_size_bytes = uint64_t{1} << 43;
  EXPECT_FALSE(DecodeOutputProgress(EncodeOutputProgress(lie)));
}

TEST_F(OutputLogTest, GivesALiveReaderNothingWhenTheProgressIsLostMeanwhile) {
  MemoryFiles files;
  files.Put("log", "hello");
  const auto progress =
      EncodeOutputProgress({.limits = {10, 10}, .claimed_bytes = 5, .written_bytes = 5, .printed_bytes = 5});
  files.Put("progress", std::string(progress.begin(), progress.end()));
  files.before_read = [&](int64_t read) {
    if (read == 3) files.Find("progress")->clear();  // behind two looks at it, with the log's bytes
  };
  Result<OutputPiece> piece = ReadLiveOutput(files, "log", "progress", OutputStream::kStdout, 1, 100);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->bytes, "");
  EXPECT_EQ(piece->next_offset, 1);
}

TEST_F(OutputLogTest, GivesALiveReaderNothingWhenTheLimitsChangeMeanwhile) {
  MemoryFiles files;
  files.Put("log", "hello");
  auto progress = EncodeOutputProgress({.limits = {2, 10}, .claimed_bytes = 5, .written_bytes = 5, .printed_bytes = 5});
  files.Put("progress", std::string(progress.begin(), progress.end()));
  progress = EncodeOutputProgress({.limits = {1, 3}, .claimed_bytes = 6, .written_bytes = 6, .printed_bytes = 6});
  files.before_read = [&](int64_t read) {
    if (read == 3) files.Find("progress")->assign(progress.begin(), progress.end());
  };
  Result<OutputPiece> piece = ReadLiveOutput(files, "log", "progress", OutputStream::kStdout, 3, 100);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->bytes, "");
  EXPECT_EQ(piece->next_offset, 3);
}

TEST_F(OutputLogTest, NeverGivesALiveReaderAWrongByteWhileTheRingTurns) {
  const OutputLimits limits{1000, 4096};
  constexpr int64_t kPrinted = 8 << 20;
  std::atomic<bool> done = false;
  std::thread writing([&] {
    OutputLogWriter writer = Writer(limits);
    std::mt19937 random(3);
    for (int64_t at = 0; at < kPrinted;) {
      int64_t end = std::min(kPrinted, at + 1 + static_cast<int64_t>(random() % 6000));
      writer.Write(Pattern(at, end));
      at = end;
    }
    done = true;
  });
  int64_t offset = 0;
  int64_t seen = 0;
  while (true) {
    const bool last = done;
    OutputPiece piece = Live(offset, 3000);
    const int64_t begin = piece.next_offset - static_cast<int64_t>(piece.bytes.size());
    ASSERT_EQ(begin, offset + piece.dropped_bytes);
    ASSERT_EQ(piece.bytes, Pattern(begin, piece.next_offset));
    seen += static_cast<int64_t>(piece.bytes.size());
    if (last && piece.next_offset == offset) break;
    offset = piece.next_offset;
  }
  writing.join();
  EXPECT_EQ(offset, kPrinted);
  EXPECT_GE(seen, 4096);
}

TEST(LogGap, IsFoundAlsoAcrossTheBordersOfBlocks) {
  const std::string line = "\n[kprof: 77 bytes dropped here]\n";
  for (int64_t head : {0, 10, (256 << 10) - 20, 256 << 10, (512 << 10) - 31}) {
    MemoryFiles files;
    std::unique_ptr<File> log = *files.Create("log");
    ASSERT_TRUE(log->Append(Pattern(0, head) + line + Pattern(0, 100)).ok());
    const Result<std::optional<LogGap>> gap = FindGap(*log, 77);
    ASSERT_TRUE(gap.ok() && *gap) << head;
    EXPECT_EQ((*gap)->offset_bytes, head);
    EXPECT_EQ((*gap)->line_bytes, static_cast<int64_t>(line.size()));
    EXPECT_FALSE(*FindGap(*log, 78));
  }
}

}  // namespace
}  // namespace kprof
