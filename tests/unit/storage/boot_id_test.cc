#include "storage/base/clock.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(BootId, IsOneWordAndTheSameEachTime) {
  std::unique_ptr<Files> files = MakePosixFiles();
  const Result<std::string> id = ReadBootId(*files);
  ASSERT_TRUE(id.ok()) << id.status().ToString();
  EXPECT_FALSE(id->empty());
  EXPECT_EQ(id->find_first_of(" \n"), std::string::npos);
  EXPECT_EQ(*ReadBootId(*files), *id);
}

}  // namespace
}  // namespace kprof
