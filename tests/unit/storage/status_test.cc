#include "storage/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace kprof {
namespace {

TEST(StatusTest, SaysTheActTheCauseAndTheRemedy) {
  Status status = Fail(ErrorCode::kNotPermitted, "lock clocks on GPU 3", "no permission", "run kprofd as root");
  EXPECT_EQ(status.ToString(), "lock clocks on GPU 3: no permission; run kprofd as root");
}

TEST(StatusTest, GainsContextAndKeepsCodeAndRemedy) {
  Status status = FailErrno(ENOSPC, "write /x").In("save run 7");
  EXPECT_EQ(status.code(), ErrorCode::kStorageFull);
  EXPECT_EQ(status.what(), "save run 7");
  EXPECT_EQ(status.why(), "write /x: No space left on device");
  EXPECT_FALSE(status.remedy().empty());
  EXPECT_EQ(status.In("save run 7").ToString(), status.ToString());  // not the same act twice
}

TEST(StatusTest, StaysOkInAnyContext) {
  EXPECT_TRUE(OkStatus().In("anything").ok());
}

TEST(StatusTest, MapsErrnoToCodes) {
  const std::pair<int, ErrorCode> cases[] = {
      {ENOSPC, ErrorCode::kStorageFull}, {EDQUOT, ErrorCode::kStorageFull}, {EACCES, ErrorCode::kNotPermitted},
      {EPERM, ErrorCode::kNotPermitted}, {ENOENT, ErrorCode::kNotFound},    {EIO, ErrorCode::kStorageBroken},
      {EMFILE, ErrorCode::kInternal},
  };
  for (auto [error, code] : cases) EXPECT_EQ(FailErrno(error, "x").code(), code) << error;
}

TEST(StatusTest, RemedyTellsAFullFileSystemFromAQuota) {
  EXPECT_EQ(FailErrno(ENOSPC, "write /x").ToString(),
            "write /x: No space left on device; free space on that file system");
  EXPECT_EQ(FailErrno(EDQUOT, "write /x").remedy(),
            "free some of this user's quota on that file system, or have it raised");
  EXPECT_EQ(FailErrno(ENOSPC, "write /x", "choose another place").remedy(), "choose another place");
}

Result<std::unique_ptr<int>> Make(bool works) {
  if (!works) return Fail(ErrorCode::kBadInput, "make", "told so");
  return std::make_unique<int>(7);
}

Result<int> Use(bool works) {
  ASSIGN_OR_RETURN(std::unique_ptr<int> made, Make(works));
  return *made;
}

TEST(ResultTest, UnpacksAValueOrPassesTheFailureOn) {
  EXPECT_EQ(*Use(true), 7);
  EXPECT_EQ(Use(false).status().code(), ErrorCode::kBadInput);
}

TEST(ResultDeathTest, ValueOfAFailureIsOurMistake) {
  EXPECT_DEATH((void)Use(false).value(), "check failed: ok");
}

}  // namespace
}  // namespace kprof
