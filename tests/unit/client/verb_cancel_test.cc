#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

class VerbCancelTest : public VerbsFixture {};

TEST_F(VerbCancelTest, CancelSaysWhatItDoes) {
  daemon_.calls.cancel_run = [](const v1::CancelRunRequest&, v1::CancelRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_RUNNING);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"cancel", "x"}), 0);
  EXPECT_EQ(results_, "cancelling run 01jd\n");
}

}  // namespace
}  // namespace kprof::cli
