#include "storage/sandbox/memory_quota.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace kprof {
namespace {

TEST(MemoryQuota, IsInPlaceBeforeMain) {
  EXPECT_TRUE(MemoryQuota::IsInstalled());
}

TEST(MemoryQuota, CountsWhatIsTakenAndGivenBack) {
  WorkBudget budget(1000, {});
  MemoryQuota quota(100'000, budget);
  MemoryQuota::Scope scope(quota);
  void* memory = sqlite3_malloc(10'000);
  EXPECT_GE(quota.used_bytes(), 10'000);
  memory = sqlite3_realloc(memory, 50'000);
  EXPECT_GE(quota.used_bytes(), 50'000);
  EXPECT_LT(quota.used_bytes(), 55'000);
  sqlite3_free(memory);
  EXPECT_EQ(quota.used_bytes(), 0);
  EXPECT_GE(quota.peak_bytes(), 50'000);
}

TEST(MemoryQuota, RefusesMoreThanItsLimit) {
  WorkBudget budget(1000, {});
  MemoryQuota quota(100'000, budget);
  MemoryQuota::Scope scope(quota);
  void* memory = sqlite3_malloc(90'000);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(sqlite3_malloc(20'000), nullptr);
  EXPECT_EQ(sqlite3_realloc(memory, 200'000), nullptr);
  EXPECT_TRUE(quota.exceeded());
  sqlite3_free(memory);
}

TEST(MemoryQuota, RefusesWhatIsTooMuchForAllTogether) {
  WorkBudget budget(60'000, {});
  MemoryQuota greedy(MemoryQuota::kAllQuotasBytes * 2, budget);
  MemoryQuota modest(100'000, budget);
  void* memory = nullptr;
  {
    MemoryQuota::Scope scope(greedy);
    memory = sqlite3_malloc(static_cast<int>(MemoryQuota::kAllQuotasBytes - 50'000));
    EXPECT_NE(memory, nullptr);
  }
  {
    MemoryQuota::Scope scope(modest);
    EXPECT_EQ(sqlite3_malloc(60'000), nullptr);
    EXPECT_TRUE(modest.crowded());
    EXPECT_FALSE(modest.exceeded());
  }
  {
    MemoryQuota::Scope scope(greedy);
    sqlite3_free(memory);
  }
  MemoryQuota::Scope scope(modest);
  memory = sqlite3_malloc(60'000);
  EXPECT_NE(memory, nullptr);
  sqlite3_free(memory);
}

TEST(MemoryQuota, CountsOtherMemoryWhereItIsAskedFor) {
  WorkBudget budget(1000, {});
  MemoryQuota quota(100'000, budget);
  EXPECT_TRUE(quota.Take(90'000).ok());
  EXPECT_EQ(quota.Take(20'000).code(), ErrorCode::kUsage);
  EXPECT_EQ(quota.used_bytes(), 90'000);
  {
    MemoryQuota::Scope scope(quota);
    EXPECT_EQ(sqlite3_malloc(20'000), nullptr);
  }
  EXPECT_TRUE(quota.TakeOfParts(300'000).ok());
  EXPECT_EQ(quota.TakeOfParts(200'000).code(), ErrorCode::kUsage);
  EXPECT_TRUE(quota.TakeOfParts(-300'000).ok());
  EXPECT_TRUE(quota.Take(-90'000).ok());
  EXPECT_EQ(quota.used_bytes(), 0);
}

TEST(MemoryQuota, EndsWhenTimeIsUp) {
  WorkBudget spent(0, {});
  MemoryQuota quota(1 << 30, spent);
  MemoryQuota::Scope scope(quota);
  bool refused = false;
  for (int i = 0; i < 10'000 && !refused; ++i) {
    void* memory = sqlite3_malloc(8);
    refused = memory == nullptr;
    sqlite3_free(memory);
  }
  EXPECT_TRUE(refused);
  EXPECT_FALSE(quota.exceeded());
}

TEST(MemoryQuota, LeavesOthersAlone) {
  WorkBudget budget(1000, {});
  MemoryQuota quota(1000, budget);
  { MemoryQuota::Scope scope(quota); }
  void* memory = sqlite3_malloc(1'000'000);
  EXPECT_NE(memory, nullptr);
  sqlite3_free(memory);
  EXPECT_EQ(quota.used_bytes(), 0);
}

TEST(MemoryQuota, ScopesNest) {
  WorkBudget budget(1000, {});
  MemoryQuota outer(100'000, budget);
  MemoryQuota inner(100'000, budget);
  MemoryQuota::Scope outer_scope(outer);
  {
    MemoryQuota::Scope inner_scope(inner);
    sqlite3_free(sqlite3_malloc(100));
  }
  EXPECT_EQ(outer.peak_bytes(), 0);
  sqlite3_free(sqlite3_malloc(100));
  EXPECT_GT(outer.peak_bytes(), 0);
}

}  // namespace
}  // namespace kprof
