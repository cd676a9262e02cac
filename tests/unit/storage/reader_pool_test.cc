#include "storage/db/reader_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class ReaderPoolTest : public testing::Test {
 protected:
  ReaderPoolTest() { (void)db_.Execute("CREATE TABLE t (x); INSERT INTO t VALUES (7)"); }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.db";
  Db db_ = *Db::Open(path_, {.mode = Db::Mode::kReadWrite});
};

TEST_F(ReaderPoolTest, LendsAConnectionThatReads) {
  ReaderPool pool(path_, {});
  EXPECT_EQ(*(*pool.Borrow())->QueryInteger("SELECT x FROM t"), 7);
}

TEST_F(ReaderPoolTest, KeepsAConnectionThatCameBack) {
  ReaderPool pool(path_, {.limit = 1});
  sqlite3* first = (*pool.Borrow())->handle();
  EXPECT_EQ((*pool.Borrow())->handle(), first);
}

TEST_F(ReaderPoolTest, SaysQueueFullWhenAllAreLentForTooLong) {
  ReaderPool pool(path_, {.limit = 1, .wait_ms = 1});
  ReaderPool::Lease lease = *pool.Borrow();
  EXPECT_EQ(pool.Borrow().status().code(), ErrorCode::kQueueFull);
}

TEST_F(ReaderPoolTest, StopsWaitingWhenToldTo) {
  ReaderPool pool(path_, {.limit = 1, .wait_ms = 600'000});
  ReaderPool::Lease lease = *pool.Borrow();
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(pool.Borrow(stop.get_token()).status().code(), ErrorCode::kCancelled);
}

TEST_F(ReaderPoolTest, WaitsForALeaseToEnd) {
  ReaderPool pool(path_, {.limit = 1, .wait_ms = 600'000});
  auto lease = std::make_unique<ReaderPool::Lease>(*pool.Borrow());
  std::jthread returner([&] { lease.reset(); });
  EXPECT_TRUE(pool.Borrow().ok());
}

TEST_F(ReaderPoolTest, WhatALeaseReadsIsOfOneMoment) {
  ReaderPool pool(path_, {.limit = 1});
  {
    ReaderPool::Lease lease = *pool.Borrow();
    const int64_t before = *lease->QueryInteger("SELECT x FROM t");
    ASSERT_TRUE(db_.Execute("UPDATE t SET x = 8").ok());
    EXPECT_EQ(*lease->QueryInteger("SELECT x FROM t"), before);
  }
  EXPECT_EQ(*(*pool.Borrow())->QueryInteger("SELECT x FROM t"), 8);
}

TEST_F(ReaderPoolTest, AFailureToOpenLeavesRoomForTheNext) {
  ReaderPool pool(folder_ / "none.db", {.limit = 1, .wait_ms = 1});
  EXPECT_EQ(pool.Borrow().status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(pool.Borrow().status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof
