#include "daemon/net/tls_credentials.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr int64_t kDay = 24 * 3600;

TEST(ExpiryWarnings, SayEachThingOnceForEachLimit) {
  ExpiryWarnings warnings;
  const std::vector<Expiry> all = {{"the certificate", 100 * kDay}, {"the list", 300 * kDay}};
  std::vector<int64_t> said_on;
  for (int64_t hour = 0; hour < 110 * 24; ++hour) {
    for (const ExpiryWarning& warning : warnings.TakeDue(all, hour * 3600)) {
      EXPECT_EQ(warning.expiry.what, "the certificate");
      said_on.push_back(hour / 24);
    }
  }
  EXPECT_EQ(said_on, (std::vector<int64_t>{70, 93, 99, 100}));
}

TEST(ExpiryWarnings, SayOnceWhatIsNearWhenItIsFirstSeen) {
  ExpiryWarnings warnings;
  const std::vector<Expiry> all = {{"a", 3 * kDay}, {"b", -kDay}};
  const std::vector<ExpiryWarning> due = warnings.TakeDue(all, 0);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].days_left, 3);
  EXPECT_EQ(due[1].days_left, -1);
  EXPECT_TRUE(warnings.TakeDue(all, 0).empty());
}

TEST(ExpiryWarnings, BeginAnewWithASuccessor) {
  ExpiryWarnings warnings;
  EXPECT_EQ(warnings.TakeDue({{"a", kDay}}, 0).size(), 1u);
  EXPECT_TRUE(warnings.TakeDue({{"a", 100 * kDay}}, 0).empty());
  EXPECT_EQ(warnings.TakeDue({{"a", 100 * kDay}}, 80 * kDay).size(), 1u);
}

}  // namespace
}  // namespace kprof
