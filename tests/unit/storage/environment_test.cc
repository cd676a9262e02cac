#include "storage/base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;

TEST(Environment, TheFirstOfANameCountsAndSettingReplacesAll) {
  std::vector<std::string> environment = {"A=1", "AB=2", "A=3", "C"};
  EXPECT_STREQ(FindVariable(environment, "A"), "1");
  EXPECT_STREQ(FindVariable(environment, "AB"), "2");
  EXPECT_EQ(FindVariable(environment, "B"), nullptr);
  EXPECT_EQ(FindVariable(environment, "C"), nullptr);
  SetVariable(environment, "A=4");
  EXPECT_THAT(environment, ElementsAre("AB=2", "C", "A=4"));
}

}  // namespace
}  // namespace kprof
