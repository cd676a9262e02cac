#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class VerbStatusTest : public VerbsFixture {};

TEST_F(VerbStatusTest, StatusShowsBothVersions) {
  daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
    response.set_version("9.8.7");
    response.set_started_unix_ns(1'000'000'000);
    response.set_now_unix_ns(6'000'000'000);
    response.set_mode("user");
    response.set_pid(42);
    response.mutable_queue()->set_limit(100);
    response.mutable_storage()->set_state_folder("/state");
    response.mutable_storage()->set_health("ok");
    v1::Device& device = *response.add_devices();
    device.set_id("cpu");
    device.set_kind("cpu");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"status"}), 0);
  EXPECT_THAT(results_, HasSubstr("kprofd      9.8.7, user mode, pid 42\nkprofctl    "));
  EXPECT_THAT(results_, HasSubstr("up          5.000 s\n"));
  EXPECT_THAT(results_, HasSubstr("cpu     cpu   free"));
}

TEST_F(VerbStatusTest, StatusAsJson) {
  daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
    response.set_version("9.8.7");
    response.set_now_unix_ns(5);
    v1::Device& device = *response.add_devices();
    device.set_id("0");
    device.set_kind("nvidia");
    device.set_run_id("01jd");
    device.set_run_uid(7);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"status", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith("{\"schema\":\"kprof.status.v1\",\"client_version\":"));
  EXPECT_THAT(results_, HasSubstr(R"("version":"9.8.7")"));
  EXPECT_THAT(results_, HasSubstr(R"("started_ns":"0","now_ns":"5","uptime_ns":5)"));
  EXPECT_THAT(
      results_,
      HasSubstr(
          R"("devices":[{"id":"0","kind":"nvidia","name":"","uuid":null,"run":"01jd",)"
          R"("run_uid":7,"session":null,"session_uid":null,"held_since_ns":null,"queued":0,)"
          R"("health":null,"trouble":null,"remedy":null,"nvidia":null,"neuron":null,"clocks":null,"peaks":[]}])"));
}

}  // namespace
}  // namespace kprof::cli
