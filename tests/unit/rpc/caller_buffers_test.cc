#include "daemon/rpc/caller_servers.h"

#include <gtest/gtest.h>

#include <vector>

#include "storage/base/clock.h"

namespace kprof {
namespace {

// deploy/kprofd.service: MemoryHigh.
constexpr int64_t kMemoryHigh = int64_t{2} << 30;

TEST(CallerBuffers, AreBoundedInAllHoweverManyAccountsThereAre) {
  for (int64_t accounts = 1; accounts <= ConnectionLimits::kMostCallers + 1; ++accounts) {
    const int64_t share = CallerBuffers::ShareOf(accounts);
    EXPECT_LE(share * accounts, CallerBuffers::kAllBytes) << accounts;
    EXPECT_GE(share, CallerBuffers::kLeastBytes) << accounts;
  }
  EXPECT_EQ(CallerBuffers::ShareOf(1), CallerBuffers::kMostBytes);
}

TEST(CallerBuffers, LeaveRoomForAnswersThatNobodyHasRead) {
  EXPECT_LT(CallerBuffers::kAllBytes + 2 * CallTotals::kAnswerBytes, kMemoryHigh);  // in memory they take twice that
}

TEST(CallerBuffers, AreOneForAllServersOfAnAccountAndGoWithIt) {
  RealClock clock;
  CallTotals totals;
  CallerBuffers buffers;
  auto make = [&] { return std::make_shared<CallerAccount>(clock, "uid 1", CallLimits(), totals); };
  const auto stays = make();
  auto goes = make();
  EXPECT_EQ(&buffers.QuotaOf(stays), &buffers.QuotaOf(stays));
  EXPECT_NE(&buffers.QuotaOf(stays), &buffers.QuotaOf(goes));
  EXPECT_EQ(buffers.accounts(), 2);
  goes.reset();
  buffers.QuotaOf(stays);
  EXPECT_EQ(buffers.accounts(), 1);
}

}  // namespace
}  // namespace kprof
