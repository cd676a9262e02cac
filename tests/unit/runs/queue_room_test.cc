#include "daemon/runs/queue/queue_room.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(QueueRoom, IsBoundedInAllAndForEachUser) {
  QueueRoom room({.all = 3, .per_uid = 2}, "runs are waiting already");
  room.Enter(1);
  EXPECT_TRUE(room.Check(1, "submit run").ok());
  room.Enter(1);
  EXPECT_EQ(room.Check(1, "submit run").ToString(),
            "submit run: 2 runs are waiting already of uid 1 alone, and one user may have no more; "
            "wait for some of them to end, or end some");
  EXPECT_TRUE(room.Check(2, "submit run").ok());
  room.Enter(2);
  EXPECT_EQ(room.Check(3, "submit run").ToString(),
            "submit run: 3 runs are waiting already; wait for some of them to end");
  room.Leave(1);
  EXPECT_TRUE(room.Check(1, "submit run").ok());
  EXPECT_EQ(room.taken(), 2u);
}

TEST(QueueRoom, TakesBackMoreThanItsLimit) {
  QueueRoom room({.all = 1, .per_uid = 1}, "runs are waiting already");
  room.Enter(1);
  room.Enter(1);
  EXPECT_EQ(room.taken(), 2u);
  EXPECT_EQ(room.Check(2, "submit run").code(), ErrorCode::kQueueFull);
}

}  // namespace
}  // namespace kprof
