#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::StartsWith;

class VerbDevicesTest : public VerbsFixture {};

TEST_F(VerbDevicesTest, DevicesAsJson) {
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    response.add_devices()->set_id("cpu");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"devices", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.devices.v1","devices":[{"id":"cpu")"));
}

}  // namespace
}  // namespace kprof::cli
