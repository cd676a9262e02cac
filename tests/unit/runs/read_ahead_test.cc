#include "daemon/runs/read_ahead.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/ingest/growing_source.h"

namespace kprof {
namespace {

// By a reader that makes of a source a part with its bytes, once it is whole.
class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() { Use({.at_once = 1, .least_bytes = 4}); }

  void Use(const ReadAheads::Options& options) {
    all_ = std::make_unique<ReadAheads>(
        ReadAheads::Parts{[this](const ImportSource& source, const ImportLimits&, Files& files, const std::string& path,
                                 const std::stop_token& stop,
                                 const auto& progress) { return Read(source, files, path, stop, progress); },
                          limits_, *files_, folder_.path(), removal_},
        options);
  }
  Result<ImportedPart> Read(const ImportSource& source, Files& files, const std::string& path,
                            const std::stop_token& stop, const std::function<void(const ImportProgress&)>& progress) {
    ++begun_;
    while (!source.growth->state().is_whole && failure_.ok() && !stop.stop_requested()) {
      progress({.bytes = source.growth->state().bytes, .events = 7});
      std::this_thread::yield();
    }
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "import", "it was cancelled");
    if (!failure_.ok()) return failure_;
    ImportedPart part;
    part.format = "chrome";
    progress({.bytes = source.growth->state().bytes, .events = 5});
    if (is_no_trace_) {
      part.no_trace = Fail(ErrorCode::kBadInput, "read it", "it has no list");
      return part;
    }
    std::string bytes(static_cast<size_t>(source.growth->state().bytes), '\0');
    KPROF_CHECK(::pread(source.fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Create(path));
    RETURN_IF_ERROR(file->Append(bytes));
    part.slices = 5;
    part.bytes = static_cast<int64_t>(bytes.size());
    return part;
  }

  ReadAheads::Source Source(const std::string& name, bool may_be_none = false) {
    return {source_.fd(), name, may_be_none,
            std::make_shared<SpooledBytes>(bytes_, kOwner, UploadBytes::Beside{.owned_bytes = 90})};
  }
  // Of which four bytes have come.
  std::shared_ptr<ReadAhead> Begin(bool may_be_none = false) {
    return all_->Begin(Source("a.json", may_be_none), {4, false});
  }
  std::optional<ImportedPart> Take(ReadAhead& ahead, const ReadAhead::Wanted& wanted = {"a.json", "auto"},
                                   const std::stop_token& stop = {}) {
    return ahead.Take(wanted, Taken(), stop, [this](const ImportProgress& now) { seen_events_ = now.events; });
  }
  std::string Taken() const { return folder_ / "taken"; }
  size_t FilesLeft() { return files_->List(folder_.path())->size(); }
  // That end in their own time.
  static void WaitFor(const std::function<bool()>& is_so) {
    while (!is_so()) std::this_thread::yield();
  }

  static constexpr uint32_t kOwner = 1000;
  TemporaryFolder folder_;
  StorageLimits storage_limits_;
  UploadBytes bytes_{storage_limits_};
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ImportLimits limits_;
  WorkerPool removal_{{.threads = 0}};
  GrowingSource source_;
  std::atomic<int> begun_{0};
  Status failure_;
  bool is_no_trace_ = false;
  std::atomic<int64_t> seen_events_{0};
  std::unique_ptr<ReadAheads> all_;
};

TEST_F(ReadAheadTest, ReadsWhileItsSourceComesAndIsTakenByItsImport) {
  source_.Add("1234");
  const std::shared_ptr<ReadAhead> ahead = Begin();
  ASSERT_NE(ahead, nullptr);
  WaitFor([&] { return begun_ == 1; });
  source_.Add("56");
  ahead->Tell({6, true});
  const std::optional<ImportedPart> part = Take(*ahead);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->slices, 5);
  EXPECT_EQ(*ReadWholeFile(*files_, Taken(), 100), "123456");
  EXPECT_EQ(seen_events_, 5);  // also where it had been read by then
  EXPECT_EQ(FilesLeft(), 1u);
  EXPECT_FALSE(ahead->bad_source());
}

TEST_F(ReadAheadTest, IsWaitedForWithItsProgress) {
  source_.Add("1234");
  const std::shared_ptr<ReadAhead> ahead = Begin();
  std::optional<ImportedPart> part;
  std::thread import([&] { part = Take(*ahead, {"a.json", "kineto"}); });
  WaitFor([&] { return seen_events_ == 7; });
  ahead->Tell({4, true});
  import.join();
  EXPECT_TRUE(part);
}

TEST_F(ReadAheadTest, OfWhatNobodyTakesNothingIsLeft) {
  source_.Add("1234");
  std::shared_ptr<ReadAhead> ahead = Begin();
  WaitFor([&] { return begun_ == 1; });
  ahead.reset();  // while it reads
  WaitFor([&] { return (ahead = Begin()) != nullptr; });
  ahead->Tell({4, true});
  WaitFor([&] { return FilesLeft() == 1; });
  ahead.reset();  // when it has read, or is just about to say so
  WaitFor([&] { return FilesLeft() == 0; });
}

TEST_F(ReadAheadTest, WhatWasReadOtherwiseThanIsWantedIsNotTaken) {
  for (const ReadAhead::Wanted& wanted : {ReadAhead::Wanted{"b.json", "auto"}, {"a.json", "nsys-sqlite"}}) {
    std::shared_ptr<ReadAhead> ahead;
    WaitFor([&] { return (ahead = Begin()) != nullptr; });
    EXPECT_FALSE(Take(*ahead, wanted));  // and it is not waited for
  }
  WaitFor([&] { return FilesLeft() == 0; });
}

TEST_F(ReadAheadTest, OneThatIsNoTraceIsTakenOnlyWhereItMayBeNone) {
  is_no_trace_ = true;
  for (const bool may_be_none : {true, false}) {
    std::shared_ptr<ReadAhead> ahead;
    WaitFor([&] { return (ahead = Begin(true)) != nullptr; });
    ahead->Tell({4, true});
    const std::optional<ImportedPart> part = Take(*ahead, {"a.json", "auto", may_be_none});
    EXPECT_EQ(part.has_value(), may_be_none);
    EXPECT_FALSE(ahead->bad_source());
  }
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(ReadAheadTest, SaysWhereItsSourceIsAtFaultAndOfOtherFailuresNothing) {
  failure_ = Fail(ErrorCode::kBadInput, "import a.json", "it is broken");
  std::shared_ptr<ReadAhead> ahead = Begin();
  WaitFor([&] { return ahead->bad_source().has_value(); });
  EXPECT_EQ(ahead->bad_source()->ToString(), failure_.ToString());
  EXPECT_FALSE(Take(*ahead));
  failure_ = Fail(ErrorCode::kStorageFull, "import a.json", "the disk is full");
  WaitFor([&] { return (ahead = Begin()) != nullptr; });
  EXPECT_FALSE(Take(*ahead));
  EXPECT_FALSE(ahead->bad_source());
}

TEST_F(ReadAheadTest, ThereIsAPlaceForSoManyAtATime) {
  Use({.at_once = 2, .least_bytes = 4});
  std::shared_ptr<ReadAhead> first = Begin();
  const std::shared_ptr<ReadAhead> second = Begin();
  EXPECT_TRUE(first && second);
  EXPECT_EQ(Begin(), nullptr);
  first.reset();
  WaitFor([&] { return Begin() != nullptr; });
}

TEST_F(ReadAheadTest, WhatIsSmallWaits) {
  EXPECT_EQ(all_->Begin(Source("a.json"), {3, false}), nullptr);
  EXPECT_EQ(all_->Begin(Source(std::string(2000, 'a')), {4, false}), nullptr);
}

TEST_F(ReadAheadTest, APartThatWaitsCountsUntilItIsTakenOrGivenUp) {
  source_.Add("1234");
  for (const bool is_taken : {true, false}) {
    std::shared_ptr<ReadAhead> ahead;
    WaitFor([&] { return (ahead = Begin()) != nullptr; });
    ahead->Tell({4, true});
    WaitFor([&] { return bytes_.bytes() == 4; });
    EXPECT_EQ(is_taken && Take(*ahead).has_value(), is_taken);
    ahead.reset();
    WaitFor([&] { return bytes_.bytes() == 0; });
  }
}

TEST_F(ReadAheadTest, APartForWhichThereIsNoRoomDoesNotWait) {
  source_.Add("1234");
  storage_limits_.Set({.bytes_per_uid = 93});  // beside 90
  std::shared_ptr<ReadAhead> ahead = Begin();
  ahead->Tell({4, true});
  EXPECT_FALSE(Take(*ahead));
  EXPECT_FALSE(ahead->bad_source());
  EXPECT_EQ(FilesLeft(), 0u);
  storage_limits_.Set({});
  Use({.at_once = 1, .least_bytes = 4, .kept_free_bytes = int64_t{1} << 60});
  ahead = Begin();
  ahead->Tell({4, true});
  EXPECT_FALSE(Take(*ahead));
  EXPECT_EQ(FilesLeft(), 0u);
  EXPECT_EQ(bytes_.bytes(), 0);
}

TEST_F(ReadAheadTest, AnImportThatIsStoppedDoesNotWait) {
  const std::shared_ptr<ReadAhead> ahead = Begin();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(Take(*ahead, {"a.json", "auto"}, stop.get_token()));
  WaitFor([&] { return Begin() != nullptr; });  // its place is free
}

TEST_F(ReadAheadTest, AllEndWithTheDaemon) {
  const std::shared_ptr<ReadAhead> ahead = Begin();
  all_->End();
  EXPECT_FALSE(Take(*ahead));
  EXPECT_EQ(Begin(), nullptr);
}

}  // namespace
}  // namespace kprof
