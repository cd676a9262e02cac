#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
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

TEST_F(VerbDevicesTest, OneHeldByAnotherUserIsNotCalledFree) {
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    response.add_devices()->set_id("0");
    response.mutable_devices(0)->set_held_since_unix_ns(17);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"devices"}), 0);
  EXPECT_THAT(results_, HasSubstr("another user"));
  EXPECT_THAT(results_, Not(HasSubstr("free")));
}

}  // namespace
}  // namespace kprof::cli
