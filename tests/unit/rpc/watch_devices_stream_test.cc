#include "daemon/rpc/streams/watch_devices_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class WatchDevicesTest : public testing::Test, public RpcFixture {
 protected:
  struct Watch {
    explicit Watch(RpcClient& client, bool events_only = false, uint32_t period_ms = 0) {
      v1::WatchDevicesRequest request;
      request.set_events_only(events_only);
      request.set_period_ms(period_ms);
      reader = client.node->WatchDevices(&context, request);
    }
    ~Watch() { context.TryCancel(); }
    bool Next() { return reader->Read(&message); }
    std::string DevicesTold() const {
      std::string ids;
      for (const v1::Device& device : message.devices()) ids += (ids.empty() ? "" : " ") + device.id();
      return ids;
    }
    CallContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchDevicesResponse>> reader;
    v1::WatchDevicesResponse message;
  };

  // Reads, with time going on, until that event is told.
  v1::DeviceEvent Await(Watch& watch, const std::string& kind) {
    auto found = std::async(std::launch::async, [&] {
      while (watch.Next()) {
        for (const v1::DeviceEvent& event : watch.message.events()) {
          if (event.kind() == kind) return event;
        }
      }
      return v1::DeviceEvent();
    });
    EXPECT_TRUE(Passing(50, [&] { return found.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return found.get();
  }
};

TEST_F(WatchDevicesTest, TellsAllThatThereAreAndThenWhatChanges) {
  Start();
  RpcClient client = Connect();
  Watch watch(client);
  ASSERT_TRUE(watch.Next());
  EXPECT_THAT(watch.DevicesTold(), testing::StartsWith("cpu"));
  const std::string all = watch.DevicesTold();
  EXPECT_EQ(watch.message.now_unix_ns(), clock_.unix_ns());
  EXPECT_EQ(watch.message.events_size(), 0) << "what happened before is not told";

  const std::string run = RunningRun(client);
  const v1::DeviceEvent leased = Await(watch, "leased");
  EXPECT_EQ(leased.text(), "to run " + run);
  EndLast();
  EXPECT_EQ(Await(watch, "released").text(), "by run " + run);
  EXPECT_LT(watch.DevicesTold().size(), all.size()) << "those that did not change are not told again";
}

TEST_F(WatchDevicesTest, AMessageComesEveryPeriodThoughNothingChanges) {
  Start();
  RpcClient client = Connect();
  Watch watch(client, false, 200);
  ASSERT_TRUE(watch.Next());
  auto next = std::async(std::launch::async, [&] { return watch.Next(); });
  EXPECT_TRUE(Passing(50, [&] { return next.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_TRUE(next.get());
  EXPECT_EQ(watch.DevicesTold(), "");
}

TEST_F(WatchDevicesTest, OneThatWantsEventsAloneIsToldNoDevices) {
  Start();
  RpcClient client = Connect();
  Watch watch(client, true);
  ASSERT_TRUE(watch.Next());
  EXPECT_EQ(watch.DevicesTold(), "");
  const std::string run = RunningRun(client);
  EXPECT_EQ(Await(watch, "leased").device_id(), "cpu");
  EXPECT_EQ(watch.DevicesTold(), "");
}

TEST_F(WatchDevicesTest, APeriodThatIsNotOfferedIsUsage) {
  Start();
  RpcClient client = Connect();
  for (const uint32_t period_ms : {1, 99, 60'001}) {
    Watch watch(client, false, period_ms);
    EXPECT_FALSE(watch.Next());
    const grpc::Status status = watch.reader->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << period_ms;
    EXPECT_EQ(DetailOf(status).remedy(), "ask for 100 to 60000 ms");
  }
}

TEST_F(WatchDevicesTest, ThereAreSoManyOfOneUserAndAPlaceThatIsLeftIsFree) {
  Start();
  RpcClient client = Connect();
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < StreamLimits::kDeviceWatchesPerUid; ++i) {
    watches.push_back(std::make_unique<Watch>(client));
    ASSERT_TRUE(watches.back()->Next()) << i;
  }
  Watch one_more(client);
  EXPECT_FALSE(one_more.Next());
  EXPECT_EQ(one_more.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  watches.pop_back();
  EXPECT_TRUE(Until([&] {
    Watch again(client);
    return again.Next();
  }));
}

}  // namespace
}  // namespace kprof
