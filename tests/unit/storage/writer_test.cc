#include "storage/db/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <latch>

#include "storage/db/statement.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/fault_plan.h"
#include "tests/fakes/storage/fault_vfs.h"

namespace kprof {
namespace {

using testing::ElementsAre;

Writer::Job Insert(int64_t x) {
  return [x](Db& db) { return Statement(db, "INSERT INTO t VALUES (?1)").Bind(1, x).Run(); };
}

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .vfs = vfs_.name()});
    (void)db.Execute("CREATE TABLE t (x INTEGER PRIMARY KEY)");
  }

  // A writer that does nothing until Release, so that what is submitted meanwhile makes one batch.
  void StartHeld(const Writer::Options& options = {}) {
    writer_.emplace(*Db::Open(path_, {.mode = Db::Mode::kReadWrite, .vfs = vfs_.name(), .kept_statements = 16}),
                    options);
    std::promise<void> holding;
    writer_->Submit(
        [&](Db&) {
          holding.set_value();
          release_.wait();
          return OkStatus();
        },
        [](Status) {});
    holding.get_future().wait();
  }
  void Release() { release_.count_down(); }

  void SubmitNoting(Writer::Job job) {
    size_t i = results_.size();
    results_.push_back(std::nullopt);
    writer_->Submit(std::move(job), [this, i](Status status) {
      results_[i] = status.code();
      order_.push_back(i);
    });
  }

  std::vector<int64_t> Rows() {
    std::vector<int64_t> rows;
    Db db = *Db::Open(path_, {});
    Statement select(db, "SELECT x FROM t ORDER BY x");
    while (select.Next()) rows.push_back(select.Integer(0));
    return rows;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.db";
  FaultPlan plan_;
  FaultVfs vfs_{plan_};
  std::latch release_{1};
  std::vector<std::optional<ErrorCode>> results_;
  std::vector<size_t> order_;
  std::optional<Writer> writer_;  // last: its thread uses the rest
};

TEST_F(WriterTest, CommitsTogetherWhatWaitsTogether) {
  StartHeld();
  for (int64_t x = 1; x <= 10; ++x) SubmitNoting(Insert(x));
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait([](Db&) { return OkStatus(); }).ok());
  // The one that held, then all the others at once (the last may have come too late for them).
  EXPECT_LE(writer_->commits(), 3);
  EXPECT_EQ(Rows().size(), 10u);
}

TEST_F(WriterTest, CommitsAtMostABatchAtOnce) {
  StartHeld({.batch_limit_jobs = 2});
  for (int64_t x = 1; x <= 10; ++x) SubmitNoting(Insert(x));
  Release();
  writer_.reset();
  EXPECT_EQ(Rows().size(), 10u);
}

TEST_F(WriterTest, CallsBackInTheOrderOfSubmit) {
  StartHeld();
  for (int64_t x = 1; x <= 5; ++x) SubmitNoting(Insert(x));
  Release();
  writer_.reset();
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(WriterTest, IsDurableBeforeItSaysSo) {
  StartHeld();
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1)).ok());
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kNothing);
  EXPECT_THAT(Rows(), ElementsAre(1));
}

TEST_F(WriterTest, WhatMayBeDurableLaterIsNotSynced) {
  StartHeld();
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1)).ok());
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(2), Durability::kLater).ok());
  EXPECT_THAT(Rows(), ElementsAre(1, 2));
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kNothing);
  EXPECT_THAT(Rows(), ElementsAre(1));
}

TEST_F(WriterTest, WhatMayBeDurableLaterIsSoWithTheNextThatIsNow) {
  StartHeld();
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1), Durability::kLater).ok());
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(2), Durability::kLater).ok());
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(3)).ok());
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kNothing);
  EXPECT_THAT(Rows(), ElementsAre(1, 2, 3));
}

TEST_F(WriterTest, WhatMayBeDurableLaterOutlastsTheDeathOfTheProcess) {
  StartHeld();
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1), Durability::kLater).ok());
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kEverything);
  EXPECT_THAT(Rows(), ElementsAre(1));
}

TEST_F(WriterTest, ABatchIsAsDurableAsTheMostCarefulOfIt) {
  StartHeld();
  for (const Durability durability : {Durability::kLater, Durability::kNow, Durability::kLater}) {
    const auto x = static_cast<int64_t>(results_.size());
    results_.push_back(std::nullopt);
    writer_->Submit(
        Insert(x), [](Status) {}, durability);
  }
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait([](Db&) { return OkStatus(); }, Durability::kLater).ok());
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kNothing);
  EXPECT_THAT(Rows(), ElementsAre(0, 1, 2));
}

TEST_F(WriterTest, AFailingJobTakesNoOtherWithIt) {
  StartHeld();
  SubmitNoting(Insert(1));
  SubmitNoting([](Db& db) -> Status {
    RETURN_IF_ERROR(Insert(50)(db));
    return Fail(ErrorCode::kBadInput, "do this", "changed my mind");
  });
  SubmitNoting(Insert(1));  // breaks the primary key
  SubmitNoting(Insert(2));
  Release();
  writer_.reset();
  EXPECT_THAT(results_, ElementsAre(ErrorCode::kOk, ErrorCode::kBadInput, ErrorCode::kInternal, ErrorCode::kOk));
  EXPECT_THAT(Rows(), ElementsAre(1, 2));
}

TEST_F(WriterTest, AJobThatLosesTheTransactionTakesNoOtherWithIt) {
  StartHeld();
  SubmitNoting(Insert(1));
  SubmitNoting([](Db& db) -> Status {
    RETURN_IF_ERROR(Insert(50)(db));
    (void)db.Execute("ROLLBACK");  // as SQLite does by itself when a disk is full
    return Fail(ErrorCode::kStorageFull, "insert", "no space");
  });
  SubmitNoting([](Db& db) { return db.Execute("ROLLBACK"); });
  SubmitNoting(Insert(2));
  Release();
  writer_.reset();
  EXPECT_THAT(results_, ElementsAre(ErrorCode::kOk, ErrorCode::kStorageFull, ErrorCode::kInternal, ErrorCode::kOk));
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Rows(), ElementsAre(1, 2));
}

TEST_F(WriterTest, AFailedCommitFailsItsWholeBatchAndNothingElse) {
  StartHeld();
  SubmitNoting(Insert(1));
  SubmitNoting([](Db&) { return Fail(ErrorCode::kBadInput, "do this", "no"); });
  SubmitNoting(Insert(2));
  plan_.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  Release();
  EXPECT_EQ(writer_->SubmitAndWait(Insert(3)).code(), ErrorCode::kStorageFull);
  plan_.Heal();
  EXPECT_TRUE(writer_->SubmitAndWait(Insert(4)).ok());
  writer_.reset();
  EXPECT_THAT(results_, ElementsAre(ErrorCode::kStorageFull, ErrorCode::kBadInput, ErrorCode::kStorageFull));
  EXPECT_THAT(Rows(), ElementsAre(4));
}

TEST_F(WriterTest, WhatFailedInTheLastSyncDoesNotComeBackAfterACrash) {
  StartHeld();
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1)).ok());
  plan_.Heal();
  for (int64_t at = 1; !plan_.has_failed() || plan_.failed_op() != FaultPlan::Op::kSync; ++at) {
    ASSERT_LT(at, 20);
    plan_.FailAt(at, Fault::kInputOutput);
    (void)writer_->SubmitAndWait(Insert(100 + at));
  }
  std::vector<int64_t> before = Rows();
  plan_.FailAt(1, Fault::kPowerCut);
  writer_.reset();
  plan_.RestoreSynced(FaultPlan::Survives::kEverything);
  EXPECT_EQ(Rows(), before);
}

TEST_F(WriterTest, RefusesWhatIsTooMuch) {
  StartHeld({.queue_limit_jobs = 2});
  SubmitNoting(Insert(1));
  SubmitNoting(Insert(2));
  SubmitNoting(Insert(3));
  EXPECT_EQ(results_[2], ErrorCode::kQueueFull);
  Release();
  writer_.reset();
  EXPECT_THAT(Rows(), ElementsAre(1, 2));
}

TEST_F(WriterTest, CommitsWhatIsQueuedBeforeItEnds) {
  StartHeld({.batch_limit_jobs = 3});
  for (int64_t x = 1; x <= 10; ++x) SubmitNoting(Insert(x));
  Release();
  writer_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  EXPECT_EQ(Rows().size(), 10u);
}

TEST_F(WriterTest, FoldsTheWalBackWhenIdle) {
  StartHeld({.checkpoint_idle_ms = 1});
  Release();
  ASSERT_TRUE(writer_->SubmitAndWait(Insert(1)).ok());
  // The row is in the database file itself: seen without its WAL.
  auto is_folded_back = [&] {
    std::filesystem::copy_file(path_, folder_ / "copy.db", std::filesystem::copy_options::overwrite_existing);
    Result<Db> db = Db::Open(folder_ / "copy.db", {});
    return db.ok() && db->QueryInteger("SELECT count(*) FROM t").ok() &&
           *db->QueryInteger("SELECT count(*) FROM t") == 1;
  };
  while (!is_folded_back()) std::this_thread::yield();
}

TEST_F(WriterTest, TakesJobsFromManyThreadsWhileOthersRead) {
  StartHeld();
  Release();
  constexpr int kThreads = 8, kJobs = 50;
  std::atomic<int> ok = 0, refused = 0;
  std::atomic<bool> done = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        Db db = *Db::Open(path_, {});
        int64_t last = 0;
        while (!done) {
          int64_t count = *db.QueryInteger("SELECT count(*) FROM t");
          EXPECT_GE(count, last);
          last = count;
        }
      });
    }
    {
      std::vector<std::jthread> writers;
      for (int i = 0; i < kThreads; ++i) {
        writers.emplace_back([&, i] {
          for (int j = 0; j < kJobs; ++j) {
            // Every tenth is taken already.
            int64_t x = j % 10 == 9 ? 0 : i * kJobs + j + 1;
            auto note = [&](Status status) { (status.ok() ? ok : refused)++; };
            if (j % 2 == 0) {
              note(writer_->SubmitAndWait(Insert(x)));
            } else {
              writer_->Submit(Insert(x), note);
            }
          }
        });
      }
    }
    (void)writer_->SubmitAndWait([](Db&) { return OkStatus(); });
    done = true;
  }
  writer_.reset();
  EXPECT_EQ(ok + refused, kThreads * kJobs);
  EXPECT_EQ(refused, kThreads * kJobs / 10 - 1);
  EXPECT_EQ(Rows().size(), static_cast<size_t>(ok));
}

}  // namespace
}  // namespace kprof
