#include "daemon/ingest/trace_import.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/ingest/source/source_hash.h"
#include "storage/trace/write/slice_nesting.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/ingest/chrome_samples.h"
#include "tests/fakes/ingest/growing_source.h"
#include "tests/fakes/ingest/memory_part.h"
#include "tests/fakes/ingest/packed.h"
#include "tests/fakes/storage/fault_files.h"
#include "tests/fakes/storage/fault_vfs.h"

namespace kprof {
namespace {

using Rows = std::vector<std::string>;

class TraceImportTest : public testing::Test {
 protected:
  UniqueFd Make(const std::string& content, int flags = O_RDONLY) {
    std::ofstream(folder_ / "source") << content;
    return UniqueFd(::open((folder_ / "source").c_str(), flags | O_CLOEXEC));
  }
  Result<ImportedPart> Import(int fd, const std::string& name = "trace.json", const std::stop_token& stop = {}) {
    return ImportTrace({.fd = fd, .name = name, .format = format_, .rank = rank_}, limits_, *files_, path_, stop,
                       [this](const ImportProgress& progress) {
                         last_progress_ = progress;
                         if (on_progress_) on_progress_();
                       });
  }
  Result<ImportedPart> Import(const std::string& content) { return Import(Make(content).get()); }
  // Of a reader that behaves as that word says (tests/programs/ingest_nonsense.cc).
  Status Nonsense(const std::string& word, const std::stop_token& stop = {}) {
    limits_.program = KPROF_BIN_DIR "/ingest_nonsense";
    const Result<ImportedPart> imported = Import(Make("[]").get(), word + "-trace", stop);
    return imported.ok() ? OkStatus() : imported.status();
  }
  // What lies where the part does.
  Rows Left() const {
    Rows names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "parts")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  MemoryPart Part() const {
    ColumnCache cache(1 << 20);
    return MemoryPart::Of(**PartReader::Open(path_, cache));
  }
  void SetUp() override { std::filesystem::create_directory(folder_ / "parts"); }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "parts/0.trace.db";
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ImportLimits limits_{.program = KPROF_BIN_DIR "/kprof-ingest", .made_by = "1.2.3"};
  std::string format_ = "auto";
  std::optional<int64_t> rank_;
  ImportProgress last_progress_;
  std::function<void()> on_progress_;
};

TEST_F(TraceImportTest, APartHasWhatItsSourceHas) {
  const std::string trace =
      R"({"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":2,"args":{"device":0,"stream":7,"correlation":5}},
{"ph":"i","name":"mark","ts":11},{"ph":"C","name":"mem","ts":12,"args":{"a":1}},{"ph":"s","id":5,"ts":10,"name":"f"},
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}}]})";
  const UniqueFd fd = Make(trace);
  const Result<ImportedPart> imported = Import(fd.get());
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->format, "kineto");
  EXPECT_EQ(imported->rank, 3);
  EXPECT_EQ(imported->source_bytes, static_cast<int64_t>(trace.size()));
  EXPECT_EQ(imported->source_hash, *HashSource(fd.get(), {}));
  EXPECT_EQ(imported->bytes, static_cast<int64_t>(std::filesystem::file_size(path_)));
  EXPECT_EQ(imported->slices, 1);
  EXPECT_EQ(imported->instants, 1);
  EXPECT_EQ(imported->counters, 1);
  EXPECT_EQ(imported->flows, 1);
  EXPECT_EQ(imported->tracks, 4);
  EXPECT_EQ(imported->warnings, Rows{});
  EXPECT_EQ(Left(), Rows{"0.trace.db"});
  const MemoryPart part = Part();
  EXPECT_EQ(part.Rows(EventKind::kSlice), Rows{"slice 0+2000 0:7 gemm/kernel #5 {device=0, stream=7, correlation=#}"});
  EXPECT_EQ(part.facts.at("source_name"), "trace.json");
  EXPECT_EQ(part.facts.at("source_format"), "kineto");
  EXPECT_EQ(part.facts.at("made_by"), "1.2.3");
  EXPECT_EQ(part.facts.at("source_hash"), imported->source_hash);
  EXPECT_EQ(part.facts.at("rank"), "3");
  EXPECT_EQ(part.facts.at("world_size"), "8");
}

// Those of 300,000 are sorted in two pieces, of which the depths are the part's to find out. Some have no duration.
TEST_F(TraceImportTest, SlicesThatAreTooDeepAreToldWhoeverNestsThem) {
  for (const int64_t others : {40'000, 300'000}) {
    std::string events;
    for (int64_t i = 0; i < others; ++i) {
      events += R"({"ph":"X","name":"a","ts":7,"dur":)" + std::to_string(i % 100) + "},";
    }
    const Result<ImportedPart> imported = Import("[" + events + R"({"ph":"X","name":"b","ts":1,"dur":1}])");
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
    int64_t deepest = 0;
    for (const MemoryPart::OneSegment& segment : Part().segments) {
      if (segment.kind != EventKind::kSlice) continue;
      for (const int64_t depth : segment.rows.of(EventColumn::kDepth)) deepest += depth == kMostDepth;
    }
    EXPECT_EQ(deepest, others - kMostDepth);
    EXPECT_EQ(imported->warnings, Rows{std::to_string(deepest) + " slices are in more others than are kept open at "
                                                                 "once: what is in them is drawn beside them"});
    EXPECT_EQ(Part().facts.at("slices_too_deep"), std::to_string(deepest));
  }
}

TEST_F(TraceImportTest, APackedSourceIsReadAsWell) {
  const std::string trace = "[" + ManyEvents(1000) + "]";
  for (const std::string& packed : {Gzip(trace), Zstd(trace)}) {
    const Result<ImportedPart> imported = Import(packed);
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
    EXPECT_EQ(imported->slices, 1000);
    EXPECT_EQ(last_progress_.total_bytes, static_cast<int64_t>(packed.size()));
    std::filesystem::remove(path_);
  }
}

TEST_F(TraceImportTest, ASourceThatStillComesIsReadAsItComes) {
  GrowingSource source;
  std::string trace = "[" + ManyEvents(1000);
  const std::string more = ",\n" + ManyEvents(1000);
  source.Add(trace);
  std::atomic<bool> much_was_read = false;
  std::thread sender([&] {
    for (; !much_was_read; trace += more) source.Add(more);
    source.Add("]", true);
    trace += "]";
  });
  const auto progress = [&](const ImportProgress& now) {
    EXPECT_TRUE(much_was_read || now.total_bytes == 0);  // as nobody knows yet
    if (now.events > 50'000) much_was_read = true;
  };
  const Result<ImportedPart> imported = ImportTrace(
      {.fd = source.fd(), .name = "trace.json", .growth = &source.growth()}, limits_, *files_, path_, {}, progress);
  much_was_read = true;
  sender.join();
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->source_bytes, static_cast<int64_t>(trace.size()));
  const MemoryPart part = Part();
  std::filesystem::remove(path_);
  const Result<ImportedPart> whole = Import(trace);
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EXPECT_EQ(imported->source_hash, whole->source_hash);
  EXPECT_EQ(imported->slices, whole->slices);
  EXPECT_TRUE(part.Rows(EventKind::kSlice) == Part().Rows(EventKind::kSlice));
}

TEST_F(TraceImportTest, OneThatStillComesIsStoppedAndLeavesNothing) {
  limits_.silent_ms = 1;  // which does not count while it comes
  GrowingSource source;
  source.Add("[" + ManyEvents(1000));
  std::stop_source stop;
  std::thread stopper([&] {
    while (Left().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  const Result<ImportedPart> imported =
      ImportTrace({.fd = source.fd(), .name = "trace.json", .growth = &source.growth()}, limits_, *files_, path_,
                  stop.get_token(), [](const ImportProgress&) {});
  stopper.join();
  EXPECT_EQ(imported.status().code(), ErrorCode::kCancelled);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, AReaderThatIsSilentOnceItsSourceHasComeIsEnded) {
  limits_.program = KPROF_BIN_DIR "/ingest_nonsense";
  limits_.silent_ms = 50;
  GrowingSource source;
  source.Add("[");
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // silent, and nobody minds
    source.Add("]", true);
  });
  const Result<ImportedPart> imported =
      ImportTrace({.fd = source.fd(), .name = "mute-trace", .growth = &source.growth()}, limits_, *files_, path_, {},
                  [&](const ImportProgress&) {});
  EXPECT_TRUE(source.growth().state().is_whole);
  sender.join();
  EXPECT_NE(imported.status().why().find("nothing was heard of its reader"), std::string::npos);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, AReaderThatIsDoneBeforeItsSourceIsNotBelieved) {
  limits_.program = KPROF_BIN_DIR "/ingest_nonsense";
  GrowingSource source;
  source.Add("[");
  const Result<ImportedPart> imported =
      ImportTrace({.fd = source.fd(), .name = "good-trace", .growth = &source.growth()}, limits_, *files_, path_, {},
                  [](const ImportProgress&) {});
  EXPECT_EQ(imported.status().code(), ErrorCode::kInternal);
}

TEST_F(TraceImportTest, TheRankThatIsSaidStandsAboveTheSources) {
  rank_ = 6;
  const Result<ImportedPart> imported = Import(R"({"distributedInfo":{"rank":3},"traceEvents":[]})");
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported->rank, 6);
  EXPECT_EQ(Part().facts.at("rank"), "6");
  std::filesystem::remove(path_);
  EXPECT_EQ(Import("[]")->rank, 6);
  EXPECT_EQ(Part().facts.at("rank"), "6");
}

TEST_F(TraceImportTest, ARankThatNobodySaysIsTheLikelyOneInThePartAlone) {
  const auto import = [&](const std::string& content) {
    const UniqueFd fd = Make(content);
    return *ImportTrace({.fd = fd.get(), .name = "trace.json", .rank_if_unsaid = 5}, limits_, *files_, path_, {},
                        [](const ImportProgress&) {});
  };
  const ImportedPart unsaid = import("[]");
  EXPECT_EQ(unsaid.rank, std::nullopt);
  EXPECT_EQ(unsaid.told_rank, 5);
  EXPECT_EQ(Part().facts.at("rank"), "5");
  std::filesystem::remove(path_);
  const ImportedPart said = import(R"({"distributedInfo":{"rank":3},"traceEvents":[]})");
  EXPECT_EQ(said.rank, 3);
  EXPECT_EQ(said.told_rank, 3);
  EXPECT_EQ(Part().facts.at("rank"), "3");
}

TEST_F(TraceImportTest, ACutSourceIsKeptUpToThereAndSaysSo) {
  const Result<ImportedPart> imported = Import(R"([{"ph":"i","ts":1},{"ph":"i","ts)");
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported->instants, 1);
  EXPECT_EQ(imported->warnings, Rows{"it ends at byte 19, in the middle; the 1 events before were kept"});
}

TEST_F(TraceImportTest, WhatIsNoTraceIsRefusedAndNamedAndNothingIsLeft) {
  for (const std::string content : {"", "hello", "{}", "[garbage]"}) {
    const Result<ImportedPart> imported = Import(content);
    ASSERT_FALSE(imported.ok()) << content;
    EXPECT_EQ(imported.status().code(), ErrorCode::kBadInput);
    EXPECT_NE(imported.status().ToString().find("trace.json"), std::string::npos) << imported.status().ToString();
    EXPECT_EQ(Left(), Rows{});
  }
}

TEST_F(TraceImportTest, WhatMayBeNoneAndIsNoTraceIsSaidSoAndWhatIsBrokenFails) {
  const auto import = [&](const std::string& content) {
    const UniqueFd fd = Make(content);
    return ImportTrace({.fd = fd.get(), .name = "trace.json", .may_be_none = true}, limits_, *files_, path_, {},
                       [](const ImportProgress&) {});
  };
  for (const std::string content : {"", "hello", "{\"a\":[1]}", "[garbage]"}) {
    const Result<ImportedPart> imported = import(content);
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
    ASSERT_TRUE(imported->no_trace.has_value()) << content;
    EXPECT_EQ(imported->no_trace->code(), ErrorCode::kBadInput);
    EXPECT_FALSE(imported->no_trace->why().empty());
    EXPECT_EQ(Left(), Rows{});
  }
  EXPECT_EQ(import("{\"traceEvents\":[garbage]}").status().code(), ErrorCode::kBadInput);
  EXPECT_EQ(Left(), Rows{});
  const Result<ImportedPart> good = import("[]");
  ASSERT_TRUE(good.ok());
  EXPECT_FALSE(good->no_trace.has_value());
}

TEST_F(TraceImportTest, AFormatThatThereIsNotIsAMistake) {
  format_ = "otf2";
  const Result<ImportedPart> imported = Import("[]");
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.status().code(), ErrorCode::kUsage);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const UniqueFd fifo(::open((folder_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const UniqueFd directory(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const UniqueFd* fd : {&fifo, &directory, &socket}) {
    const Result<ImportedPart> imported = Import(fd->get());
    ASSERT_FALSE(imported.ok());
    EXPECT_EQ(imported.status().code(), ErrorCode::kBadInput);
    EXPECT_EQ(imported.status().why(), "it is no regular file");
    EXPECT_EQ(Left(), Rows{});
  }
}

TEST_F(TraceImportTest, ASourceThatBecomesShorterMeanwhileIsKeptUpToThereAndSaysSo) {
  const std::string trace = "[" + ManyEvents(300'000) + "]";  // 30 MB
  const UniqueFd fd = Make(trace, O_RDWR);
  on_progress_ = [&] { EXPECT_EQ(::ftruncate(fd.get(), 100), 0); };
  const Result<ImportedPart> imported = Import(fd.get());
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_GT(imported->slices, 0);
  EXPECT_LT(imported->slices, 300'000);
  ASSERT_EQ(imported->warnings.size(), 1u);
  EXPECT_NE(imported->warnings[0].find("it became shorter while it was read: of its " + std::to_string(trace.size())),
            std::string::npos)
      << imported->warnings[0];
  EXPECT_EQ(imported->source_hash, "");
}

TEST(TraceImport, AReaderHasTimeBySizeUpToWhatTextThereMayBe) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  EXPECT_EQ(MostCpuSeconds(0, 64 * kGiB), 600);
  EXPECT_EQ(MostCpuSeconds(kGiB, 64 * kGiB), 600 + 1024 * 5);
  EXPECT_EQ(MostCpuSeconds(8 * kGiB, 64 * kGiB), 600 + 65'536 / 100 * 25);
  EXPECT_EQ(MostCpuSeconds(100 * kGiB, 64 * kGiB), 600 + 102'400 / 100 * 25);  // not packed, that is
}

TEST_F(TraceImportTest, ACancelledOneLeavesNothing) {
  std::stop_source stop;
  on_progress_ = [&] { stop.request_stop(); };
  const UniqueFd fd = Make("[" + ManyEvents(100'000) + "]");
  const Result<ImportedPart> imported = Import(fd.get(), "trace.json", stop.get_token());
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.status().code(), ErrorCode::kCancelled);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, OneThatIsSilentOrNeverEndsIsCancelledAllTheSame) {
  for (const std::string word : {"mute", "hang", "trickle", "chatter"}) {
    std::stop_source stop;
    std::jthread later([&] { stop.request_stop(); });
    EXPECT_EQ(Nonsense(word, stop.get_token()).code(), ErrorCode::kCancelled) << word;
    EXPECT_EQ(Left(), Rows{});
  }
}

TEST_F(TraceImportTest, AReaderThatIsSilentIsEnded) {
  limits_.silent_ms = 200;
  for (const std::string word : {"mute", "hang", "trickle"}) {
    const Status status = Nonsense(word);
    EXPECT_EQ(status.code(), ErrorCode::kInternal) << word;
    EXPECT_NE(status.why().find("nothing was heard of its reader"), std::string::npos) << status.ToString();
    EXPECT_EQ(Left(), Rows{});
  }
}

TEST_F(TraceImportTest, AReaderThatDiesTakesOnlyItsImportAlong) {
  for (const std::string word : {"crash", "leave", "close"}) {
    const Status status = Nonsense(word);
    EXPECT_EQ(status.code(), ErrorCode::kInternal) << word;  // of this program, not of the source
    EXPECT_NE(status.why().find("kprof-ingest, which reads it, ended with"), std::string::npos) << status.ToString();
    EXPECT_NE(status.ToString().find(word + "-trace"), std::string::npos) << status.ToString();
    EXPECT_EQ(Left(), Rows{});
  }
  EXPECT_NE(Nonsense("poor").why().find("more memory than an import may have"), std::string::npos);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, AReaderThatSaysNonsenseIsNotBelieved) {
  for (const std::string word :
       {"stranger", "rude",      "late",     "huge",       "again",     "request",  "type",        "string",  "twice",
        "track",    "shape",     "segment",  "text",       "integer",   "progress", "done",        "failed",  "sparse",
        "empty",    "sidetable", "siderows", "sidenumber", "sidetwice", "sidenone", "sidecolumns", "sidemany"}) {
    const Status status = Nonsense(word);
    EXPECT_FALSE(status.ok()) << word;
    EXPECT_EQ(Left(), Rows{}) << word;
  }
  EXPECT_EQ(Nonsense("stranger").remedy(), "restart kprofd: its programs may be of different builds");
}

TEST_F(TraceImportTest, WhyAReaderRefusesIsSaid) {
  const Status status = Nonsense("refuse");
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_NE(status.ToString().find("it is not to my taste"), std::string::npos);
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, AReaderThatIsNotThereIsSaid) {
  limits_.program = "/nowhere/kprof-ingest";
  EXPECT_EQ(Import("[]").status().code(), ErrorCode::kToolMissing);
  EXPECT_EQ(Left(), Rows{});
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // without a sandbox there is no limit of memory
TEST_F(TraceImportTest, ASourceThatTakesMoreMemoryThanItMayFails) {
  limits_.memory_bytes = 24 << 20;
  const Result<ImportedPart> imported = Import("[" + ManyEvents(300'000) + "]");
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.status().code(), ErrorCode::kBadInput);
  EXPECT_NE(
      imported.status().why().find("more memory than an import may have; by then it had 0 MiB of different texts"),
      std::string::npos)
      << imported.status().ToString();
  EXPECT_EQ(Left(), Rows{});
}

TEST_F(TraceImportTest, WithLessMemoryLessOfWhatDiffersIsTakenAndALargeEventSkipped) {
  limits_.memory_bytes = 320 << 20;
  const std::string large = R"({"ph":"i","ts":1,"name":")" + std::string(40 << 20, 'x') + "\"}";
  Result<ImportedPart> imported = Import("[" + large + R"(,{"ph":"i","ts":2}])");
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->instants, 1);
  ASSERT_EQ(imported->warnings.size(), 1u);
  EXPECT_NE(imported->warnings[0].find("is larger than one may be"), std::string::npos) << imported->warnings[0];
  std::filesystem::remove(path_);
  std::string shapes = "[";
  for (int i = 0; i < 200'000; ++i) {
    shapes += R"({"ph":"i","ts":1,"args":{"k)" + std::to_string(i) + "\":1}},";
  }
  imported = Import(shapes + "]");
  ASSERT_FALSE(imported.ok());
  EXPECT_NE(imported.status().why().find(" kinds of argument lists"), std::string::npos)
      << imported.status().ToString();
  EXPECT_EQ(imported.status().why().find("more memory"), std::string::npos) << imported.status().ToString();
}

TEST_F(TraceImportTest, OneTextOfSixtyMebibytesIsRead) {
  const Result<ImportedPart> imported =
      Import("[{\"ph\":\"i\",\"ts\":1,\"name\":\"" + std::string(60 << 20, 'x') + "\"}]");
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->instants, 1);
}
#endif

// Whatever fails on the way to the disk: there is a whole part, or none, and nothing beside it.
TEST_F(TraceImportTest, AFullOrBrokenDiskLeavesNothing) {
  for (const Fault fault : {Fault::kNoSpace, Fault::kInputOutput}) {
    bool done = false;
    for (int64_t at = 1; !done; ++at) {
      FaultPlan plan;
      FaultVfs vfs(plan);
      sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
      sqlite3_vfs_register(sqlite3_vfs_find(vfs.name()), 1);
      files_ = std::make_unique<FaultFiles>(plan, MakePosixFiles());
      plan.FailAt(at, fault);
      const Result<ImportedPart> imported = Import("[" + ManyEvents(50) + "]");
      sqlite3_vfs_register(usual, 1);
      files_ = MakePosixFiles();
      ASSERT_LT(at, 1000);
      if (imported.ok()) {
        done = !plan.has_failed();
        EXPECT_EQ(Left(), Rows{"0.trace.db"}) << at;
        std::filesystem::remove(path_);
        continue;
      }
      EXPECT_EQ(imported.status().code(),
                fault == Fault::kNoSpace ? ErrorCode::kStorageFull : ErrorCode::kStorageBroken)
          << at << " " << imported.status().ToString();
      // Where removing itself failed, the next import takes away what was left.
      if (plan.failed_op() != FaultPlan::Op::kRemove) {
        EXPECT_EQ(Left(), Rows{}) << at;
      }
      for (const std::string& name : Left()) std::filesystem::remove(folder_ / ("parts/" + name));
    }
  }
}

}  // namespace
}  // namespace kprof
