#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

v1::Session Locking(const std::string& id, uint32_t uid, const std::vector<std::string>& devices) {
  v1::Session session;
  session.set_id(id);
  session.set_state(v1::SESSION_STATE_OPEN);
  session.set_uid(uid);
  for (const std::string& device : devices) session.add_devices(device);
  session.set_clocks("lock=1500!");
  session.set_opened_unix_ns(1'795'267'369'000'000'000);
  session.set_expires_unix_ns(1'795'269'169'000'000'000);
  return session;
}

class VerbClocksTest : public VerbsFixture {
 protected:
  void SetUp() override {
    VerbsFixture::SetUp();
    daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
      for (const char* id : {"0", "1", "2"}) {
        v1::Device& device = *response.add_devices();
        device.set_id(id);
        device.set_uuid(std::string("GPU-") + id);
        device.set_kind("nvidia");
        device.mutable_clocks()->set_lockable(true);
      }
      v1::Device& by_hand = *response.mutable_devices(0);
      by_hand.set_session_id("01se");
      by_hand.mutable_clocks()->set_locked(true);
      by_hand.mutable_clocks()->set_locked_sm_mhz(1500);
      v1::Device& by_a_run = *response.mutable_devices(2);
      by_a_run.set_run_id("01ru");
      by_a_run.mutable_clocks()->set_locked(true);
      return OkStatus();
    };
    daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
      response.set_caller_uid(1000);
      return OkStatus();
    };
    daemon_.calls.list_sessions = [this](const v1::ListSessionsRequest& request, v1::ListSessionsResponse& response) {
      std::lock_guard lock(mu_);
      listed_ = request;
      for (const v1::Session& session : sessions_) *response.add_sessions() = session;
      return OkStatus();
    };
    daemon_.calls.close_session = [this](const v1::CloseSessionRequest& request, v1::CloseSessionResponse& response) {
      std::lock_guard lock(mu_);
      closed_.push_back(request.id());
      for (const v1::Session& session : sessions_) {
        if (session.id() == request.id()) *response.mutable_session() = session;
      }
      response.mutable_session()->set_state(v1::SESSION_STATE_CLOSED);
      return OkStatus();
    };
  }

  std::vector<v1::Session> sessions_;
  v1::ListSessionsRequest listed_;
  std::vector<std::string> closed_;
};

TEST_F(VerbClocksTest, StatusIsATableOrALineOfJson) {
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"clocks", "status"}), 0);
  EXPECT_THAT(results_, HasSubstr("1500 MHz  session 01se"));
  EXPECT_EQ(Kprofctl({"clocks", "status", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.clocks.v1","devices":[{"device":"0")"));
}

TEST_F(VerbClocksTest, LockLeasesTheDevicesInASessionThatEndsByItself) {
  v1::OpenSessionRequest asked;
  daemon_.calls.open_session = [&](const v1::OpenSessionRequest& request, FakeStream<v1::OpenSessionResponse> stream) {
    asked = request;
    v1::OpenSessionResponse response;
    *response.mutable_session() = Locking("01se", 1000, {"0"});
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"clocks", "lock", "--device", "0", "--sm", "1500", "--mem", "2619", "--ttl", "30m"}), 0);
  EXPECT_EQ(asked.ShortDebugString(),
            "device: \"0\" clocks: \"lock=1500,mem=2619!\" labels { key: \"kprof.clocks\" value: \"locked\" } "
            "detached: true ttl_ms: 1800000 idle_timeout_ms: 1800000");
  EXPECT_EQ(results_, "01se\n");
  EXPECT_THAT(notes_, HasSubstr("device 0 is locked at 1500 MHz until "));
  EXPECT_THAT(notes_, EndsWith("or kprofctl clocks release --device 0\n"));

  EXPECT_EQ(Kprofctl({"clocks", "lock", "--device", "0"}), 0);
  EXPECT_EQ(asked.clocks(), "lock!");
  EXPECT_EQ(asked.ttl_ms(), 3'600'000);
  EXPECT_EQ(asked.idle_timeout_ms(), 3'600'000);
}

TEST_F(VerbClocksTest, ReleaseClosesThatDevicesSession) {
  sessions_ = {Locking("01se", 2000, {"0"}), Locking("01se1", 1000, {"1"})};
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"clocks", "release", "--device", "GPU-0"}), 0);
  EXPECT_THAT(closed_, testing::ElementsAre("01se"));
  EXPECT_EQ(results_, "device 0 is given back, session 01se is closed\n");
  EXPECT_EQ(listed_.labels().at("kprof.clocks"), "locked");
  EXPECT_EQ(listed_.states_size(), 2) << "what has ended is not closed once more";
}

TEST_F(VerbClocksTest, ReleaseWithoutADeviceIsForOnesOwn) {
  sessions_ = {Locking("01se", 2000, {"0"}), Locking("01se1", 1000, {"1", "2"})};
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"clocks", "release"}), 0);
  EXPECT_THAT(closed_, testing::ElementsAre("01se1"));
  EXPECT_EQ(results_, "devices 1,2 are given back, session 01se1 is closed\n");
}

TEST_F(VerbClocksTest, ReleaseSaysWhoElseHoldsALock) {
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"clocks", "release", "--device", "2"}), 4);
  EXPECT_THAT(notes_, HasSubstr("nothing there is locked by 'kprofctl clocks lock'; device 2 is locked for run 01ru; "
                                "end that with kprofctl session close or kprofctl cancel"));
  EXPECT_EQ(Kprofctl({"clocks", "release", "--device", "1"}), 4);
  EXPECT_THAT(notes_, EndsWith("nothing there is locked by 'kprofctl clocks lock'; see kprofctl clocks status\n"));
  EXPECT_EQ(Kprofctl({"clocks", "release", "--device", "7"}), 4);
  EXPECT_THAT(notes_, EndsWith("this node has no device '7'; see kprofctl devices\n"));
  EXPECT_TRUE(closed_.empty());
}

}  // namespace
}  // namespace kprof::cli
