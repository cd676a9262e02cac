#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::StartsWith;

class FindRunTest : public VerbsFixture {};

TEST_F(FindRunTest, AVerbThatFindsNoRunFailsInItsOwnWords) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse&) {
    return Fail(ErrorCode::kNotFound, "show run x", "there is none", "look");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"wait", "x"}), 4);
  EXPECT_EQ(Kprofctl({"delete", "x"}), 4);
  EXPECT_EQ(Kprofctl({"logs", "x", "--json"}), 4);
  EXPECT_THAT(notes_, StartsWith("kprofctl: wait for run x: there is none; look\n"
                                 "kprofctl: delete run x: there is none; look\n"
                                 "kprofctl: read log of run x: there is none; look\n"));
}

}  // namespace
}  // namespace kprof::cli
