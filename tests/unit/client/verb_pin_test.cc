#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

class VerbPinTest : public VerbsFixture {};

TEST_F(VerbPinTest, PinAndUnpinSayWhatTheyDid) {
  daemon_.calls.pin_run = [](const v1::PinRunRequest&, v1::PinRunResponse& response) {
    *response.mutable_run() = Done();
    return OkStatus();
  };
  daemon_.calls.unpin_run = [](const v1::UnpinRunRequest&, v1::UnpinRunResponse& response) {
    *response.mutable_run() = Done();
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"pin", "x"}), 0);
  EXPECT_EQ(Kprofctl({"unpin", "x"}), 0);
  EXPECT_EQ(results_, "pinned run 01jd\nunpinned run 01jd\n");
}

}  // namespace
}  // namespace kprof::cli
