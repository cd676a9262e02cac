#include "daemon/base/bounded_places.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace kprof {
namespace {

TEST(Places, AreBoundedInAllAndPerUser) {
  Places places({.limit = 3, .limit_per_uid = 2});
  std::vector<Places::Place> taken;
  for (uint32_t uid : {1u, 1u, 2u}) taken.push_back(*places.Take(uid, "dig", "holes"));
  Result<Places::Place> of_one = places.Take(1, "dig", "holes");
  ASSERT_FALSE(of_one.ok());
  EXPECT_EQ(of_one.status().code(), ErrorCode::kQueueFull);
  EXPECT_EQ(of_one.status().ToString(),
            "dig: as many holes of uid 1 as may be at a time are under way: 2; try again when one has ended");
  Result<Places::Place> of_all = places.Take(2, "dig", "holes");
  ASSERT_FALSE(of_all.ok());
  EXPECT_EQ(of_all.status().why(), "as many holes as may be at a time are under way: 3");
}

TEST(Places, AreFreeAgainWhenTheirHoldersAreGone) {
  Places places({.limit = 1, .limit_per_uid = 1});
  std::optional<Places::Place> held(*places.Take(1, "dig", "holes"));
  Places::Place moved = std::move(*held);
  held.reset();  // has given its place on
  EXPECT_FALSE(places.Take(2, "dig", "holes").ok());
  { Places::Place last = std::move(moved); }
  EXPECT_TRUE(places.Take(2, "dig", "holes").ok());
  EXPECT_TRUE(places.Take(1, "dig", "holes").ok());
}

}  // namespace
}  // namespace kprof
