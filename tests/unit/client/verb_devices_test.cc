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

TEST_F(VerbDevicesTest, ANeuronDeviceTellsOfItsCores) {
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    v1::Device& device = *response.add_devices();
    device.set_id("neuron0");
    v1::NeuronFacts& facts = *device.mutable_neuron();
    facts.set_clock_control("not_supported");
    facts.set_lnc(2);
    facts.set_numa_node(-1);
    facts.set_memory_bytes(uint64_t{96} << 30);
    facts.set_memory_used_bytes(uint64_t{3} << 29);
    facts.set_power_mean_percent(2.5);
    for (const double percent : {80.0, 41.0}) facts.add_cores()->set_utilization_percent(percent);
    facts.add_unhealthy_components("hbm");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"devices"}), 0);
  EXPECT_THAT(results_, HasSubstr("2 cores (LNC 2), 1.5 GiB of 96.0 GiB, 2.5 % of power, 61 % busy, unhealthy: hbm"));
  EXPECT_EQ(Kprofctl({"devices", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"("clock_control":"not_supported")"));
  EXPECT_THAT(results_, HasSubstr(R"("numa_node":-1)"));
  EXPECT_THAT(results_, HasSubstr(R"("execution_errors":null)"));
}

v1::DeviceEvent EventOf(const std::string& kind, const std::string& text) {
  v1::DeviceEvent event;
  event.set_device_id("0");
  event.set_kind(kind);
  event.set_unix_ns(1'795'267'369'000'000'000);
  event.set_text(text);
  event.set_value(79);
  return event;
}

// Says both, then refuses, so that the verb ends.
class VerbDeviceEventsTest : public VerbDevicesTest {
 protected:
  void SetUp() override {
    VerbDevicesTest::SetUp();
    daemon_.calls.watch_devices = [this](const v1::WatchDevicesRequest& request,
                                         FakeStream<v1::WatchDevicesResponse> stream) {
      events_only_ = request.events_only();
      v1::WatchDevicesResponse message;
      *message.add_events() = EventOf("xid", "the driver reported\x1b[2J Xid 79");
      stream.write(message);
      message.set_dropped_events(3);
      *message.mutable_events(0) = EventOf("locked", "its clocks are at 1500 MHz");
      stream.write(message);
      return Fail(ErrorCode::kQueueFull, "watch devices", "enough");
    };
    daemon_.Start();
  }
  std::atomic<bool> events_only_ = false;
};

TEST_F(VerbDeviceEventsTest, AreALineEach) {
  EXPECT_EQ(Kprofctl({"devices", "--events"}), 6);
  EXPECT_TRUE(events_only_);
  EXPECT_THAT(results_, HasSubstr("  device 0  xid  the driver reported\\x1b[2J Xid 79\n"));
  EXPECT_THAT(results_, HasSubstr("  device 0  locked  its clocks are at 1500 MHz\n"));
  EXPECT_THAT(notes_, HasSubstr("3 events are missing here"));
  EXPECT_THAT(notes_, HasSubstr("watch devices: enough"));
}

TEST_F(VerbDeviceEventsTest, OrAnObjectEach) {
  EXPECT_EQ(Kprofctl({"devices", "--events", "--json"}), 6);
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.device_event.v1","time_ns":"1795267369000000000","device":"0",)"
                                  R"("kind":"locked","text":"its clocks are at 1500 MHz","value":79})"));
}

}  // namespace
}  // namespace kprof::cli
