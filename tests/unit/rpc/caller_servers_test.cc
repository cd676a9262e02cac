#include "daemon/rpc/caller_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/net/local_acceptor.h"
#include "daemon/rpc/services/health_service.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class CallerServersTest : public RpcFixture, public testing::Test {
 protected:
  static grpc::Status AskStatus(RpcClient& client, uint32_t* uid = nullptr) {
    CallContext context;
    v1::GetStatusResponse response;
    grpc::Status status = client.node->GetStatus(&context, v1::GetStatusRequest(), &response);
    if (uid != nullptr) *uid = response.caller_uid();
    return status;
  }
  static Caller HereOrNot(uint32_t uid, CallerPlace place) {
    Caller caller{uid, Role::kViewer, true, {}};
    caller.place = place;
    return caller;
  }
  size_t Servers() {
    size_t servers = 0;
    OnLoop([&] { servers = servers_->servers(); });
    return servers;
  }
  CallerConnection Shown(uint32_t uid, const std::vector<uint32_t>& groups, uint64_t before = UINT64_MAX) {
    return servers_->DuplicateConnection(uid, groups, before);
  }
  int64_t Connections() {
    int64_t connections = 0;
    OnLoop([&] { connections = servers_->connections(); });
    return connections;
  }
};

TEST_F(CallerServersTest, EachCallerIsWhoTheirConnectionSays) {
  Start();
  RpcClient one = Connect(1001);
  RpcClient two = Connect(1002);
  RpcClient remote = ConnectAs(Caller{1001, Role::kViewer, true, "laptop"});
  uint32_t uid = 0;
  EXPECT_TRUE(AskStatus(one, &uid).ok());
  EXPECT_EQ(uid, 1001u);
  EXPECT_TRUE(AskStatus(two, &uid).ok());
  EXPECT_EQ(uid, 1002u);
  EXPECT_TRUE(AskStatus(remote, &uid).ok());
  EXPECT_EQ(Servers(), 3u);  // the same user by another way is another caller
}

TEST_F(CallerServersTest, AServerGoesWhenNobodyHasUsedItForAWhile) {
  server_limits_.idle_ms = 1000;
  Start();
  {
    RpcClient stays = Connect(1001);
    std::optional<RpcClient> goes = Connect(1002);
    EXPECT_TRUE(AskStatus(stays).ok());
    EXPECT_TRUE(AskStatus(*goes).ok());
    goes.reset();
    ASSERT_TRUE(Until([&] { return Connections() == 1; }));
    EXPECT_TRUE(Passing(300, [&] { return Servers() == 1; }));
    EXPECT_TRUE(AskStatus(stays).ok());
  }
  RpcClient back = Connect(1002);
  EXPECT_TRUE(AskStatus(back).ok());
}

TEST_F(CallerServersTest, OverTheLimitAClientIsToldWhy) {
  server_limits_.connections_per_account = 2;
  Start();
  RpcClient first = Connect();
  RpcClient second = Connect();
  RpcClient third = Connect();
  EXPECT_TRUE(AskStatus(first).ok());
  EXPECT_TRUE(AskStatus(second).ok());
  const grpc::Status refused = AskStatus(third);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("2 connections open"));
  RpcClient other = Connect(2000);
  EXPECT_TRUE(AskStatus(other).ok());
}

TEST_F(CallerServersTest, AnEndedConnectionMakesRoom) {
  server_limits_.connections_per_account = 1;
  Start();
  {
    RpcClient first = Connect();
    EXPECT_TRUE(AskStatus(first).ok());
  }
  ASSERT_TRUE(Until([&] { return Connections() == 0; }));
  RpcClient second = Connect();
  EXPECT_TRUE(AskStatus(second).ok());
}

TEST_F(CallerServersTest, ACrowdThatIsTurnedAwayTakesNoMore) {
  server_limits_.turned_away = 2;
  Start();
  std::vector<RpcClient> crowd;
  for (int i = 0; i < 10; ++i) crowd.push_back(Connect(3000, Role::kNone));
  EXPECT_EQ(Connections(), 2);
  int64_t turned_away = 0;
  OnLoop([&] { turned_away = servers_->turned_away(); });
  EXPECT_EQ(turned_away, 10);
  EXPECT_EQ(AskStatus(crowd[0]).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(AskStatus(crowd[9]).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CallerServersTest, ManyCallersPushOutTheIdleOnes) {
  server_limits_.callers = 3;
  Start();
  for (uint32_t uid = 1; uid <= 10; ++uid) {
    {
      RpcClient client = Connect(uid);
      EXPECT_TRUE(AskStatus(client).ok()) << uid;
    }
    ASSERT_TRUE(Until([&] { return Connections() == 0; }));
  }
  EXPECT_LE(Servers(), 3u);
}

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(CallerServersTest, CallersTakeNoThreads) {
  constexpr size_t kCallers = 60;
  Start();
  std::vector<RpcClient> clients;
  clients.push_back(Connect(1));
  EXPECT_TRUE(AskStatus(clients.back()).ok());
  const size_t before = Threads();
  for (uint32_t uid = 2; uid <= kCallers; ++uid) {
    clients.push_back(Connect(uid));
    EXPECT_TRUE(AskStatus(clients.back()).ok());
  }
  EXPECT_EQ(Servers(), kCallers);
  EXPECT_LT(Threads(), before + kCallers / 2);  // gRPC starts some of its own when there is much to do
}

TEST_F(CallerServersTest, WhoIsNoLongerWhoTheyWereComesAnew) {
  Start();
  RpcClient was_admin = Connect(1001, Role::kAdmin);
  RpcClient other = Connect(1002);
  EXPECT_TRUE(AskStatus(was_admin).ok());
  EXPECT_TRUE(AskStatus(other).ok());
  OnLoop([&] { servers_->EndServers([](const Caller& caller) { return caller.uid == 1001; }); });
  EXPECT_EQ(AskStatus(was_admin).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Passing(2, [&] { return Connections() == 1; })) << "its call may not quite be over yet";
  EXPECT_TRUE(AskStatus(other).ok());
}

TEST_F(CallerServersTest, AConnectionOfUnknownPlaceIsToBeMadeAnew) {
  server_limits_.unknown_place_ms = 200;
  Start();
  const RpcClient unknown = ConnectAs(HereOrNot(1001, CallerPlace::kUnknown));
  const RpcClient here = ConnectAs(HereOrNot(1002, CallerPlace::kHere));
  const RpcClient unasked = Connect(1003);
  ASSERT_TRUE(Until([&] { return Connections() == 2; }));
  EXPECT_TRUE(Passing(600, [&] { return Connections() == 2; }));
}

// Of an ordinary client, which connects anew by itself.
TEST_F(CallerServersTest, ItsClientComesAgainWithoutLosingACallOrAStream) {
  server_limits_.unknown_place_ms = 200;
  Start();
  const TemporaryFolder folder;
  CallerPlace place = CallerPlace::kUnknown;  // io loop
  std::unique_ptr<LocalAcceptor> acceptor;    // io loop
  OnLoop([&] {
    acceptor = *LocalAcceptor::Listen(*loop_, folder / "sock", 0600, [&](const LocalAcceptor::Peer&, UniqueFd socket) {
      servers_->Serve(HereOrNot(1001, place), std::move(socket));
    });
  });
  RpcClient client(grpc::CreateChannel("unix:" + folder / "sock", grpc::InsecureChannelCredentials()));
  CallContext context;
  grpc::health::v1::HealthCheckResponse health;
  const auto watch =
      grpc::health::v1::Health::NewStub(client.channel)->Watch(&context, grpc::health::v1::HealthCheckRequest());
  ASSERT_TRUE(watch->Read(&health));
  OnLoop([&] { place = CallerPlace::kHere; });
  auto is_here = [&] {
    bool here = false;
    OnLoop([&] { here = Shown(1001, {}).copy.valid(); });
    return here;
  };
  EXPECT_TRUE(Until([&] {
    const grpc::Status answered = AskStatus(client);
    EXPECT_TRUE(answered.ok()) << answered.error_message();
    return is_here() || !answered.ok();
  }));
  EXPECT_EQ(Connections(), 2) << "the stream has the first one still";
  OnLoop([&] { servers_->AnnounceEnd(); });
  EXPECT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  watch->Finish();
  OnLoop([&] { acceptor.reset(); });
}

// gRPC by itself says CANCELLED to what comes while a server shuts down: no client takes that for "come again".
TEST_F(CallerServersTest, WhoAsksWhileKprofdStopsIsToldToComeAgain) {
  server_limits_.calls = {.in_flight = 1'000, .per_second = 1'000'000};
  Start();
  std::vector<grpc::StatusCode> last(16, grpc::StatusCode::OK);
  std::vector<std::thread> asking;
  for (size_t i = 0; i < last.size(); ++i) {
    RpcClient client = Connect(1001 + static_cast<uint32_t>(i % 3));
    EXPECT_TRUE(AskStatus(client).ok());
    asking.emplace_back([&code = last[i], client = std::move(client)]() mutable {
      while (code == grpc::StatusCode::OK) code = AskStatus(client).error_code();
    });
  }
  Stop();
  for (std::thread& thread : asking) thread.join();
  EXPECT_THAT(last, testing::Each(grpc::StatusCode::UNAVAILABLE));
}

// What it has asked may need the connection.
TEST_F(CallerServersTest, WhileItsCallsHaveTheirTimeACallerIsStillConnected) {
  Start();
  Caller caller{1001, Role::kViewer, true, {}};
  caller.place = CallerPlace::kHere;
  RpcClient client = ConnectAs(caller);
  CallContext context;
  v1::OpenSessionRequest request;
  request.set_device("cpu");
  auto session = client.sessions->OpenSession(&context, request);
  v1::OpenSessionResponse opened;
  ASSERT_TRUE(session->Read(&opened));
  OnLoop([&] {
    servers_->EndServers([](const Caller&) { return true; });
    EXPECT_EQ(servers_->servers(), 0u);
    EXPECT_TRUE(Shown(1001, {}).copy.valid());
  });
  TickingClock passing(clock_, 10);
  EXPECT_TRUE(Until([&] { return Connections() == 0; }));
  OnLoop([&] { EXPECT_FALSE(Shown(1001, {}).copy.valid()); });
}

TEST_F(CallerServersTest, GivesAConnectionOfALocalUserOnly) {
  Start();
  RpcClient local = ConnectAs(HereOrNot(1001, CallerPlace::kHere));
  RpcClient remote = ConnectAs(Caller{1002, Role::kViewer, true, "laptop"});
  OnLoop([&] {
    EXPECT_TRUE(Shown(1001, {}).copy.valid());
    EXPECT_FALSE(Shown(1001, {}, Shown(1001, {}).id).copy.valid());
    EXPECT_FALSE(Shown(1002, {}).copy.valid());
    EXPECT_FALSE(Shown(1003, {}).copy.valid());
  });
}

TEST_F(CallerServersTest, GivesNoConnectionOfWhoIsNotOnThisMachine) {
  Start();
  std::vector<RpcClient> clients;
  for (const CallerPlace place : {CallerPlace::kElsewhere, CallerPlace::kGone, CallerPlace::kUnknown}) {
    clients.push_back(ConnectAs(HereOrNot(1001, place)));
  }
  OnLoop([&] { EXPECT_FALSE(Shown(1001, {}).copy.valid()); });
  clients.push_back(ConnectAs(HereOrNot(1001, CallerPlace::kHere)));
  OnLoop([&] {
    EXPECT_TRUE(Shown(1001, {}).copy.valid());
    EXPECT_FALSE(Shown(1001, {}, Shown(1001, {}).id).copy.valid());
  });
}

TEST_F(CallerServersTest, AUserHasTheSameLimitsWhereverTheConnectionsComeFrom) {
  server_limits_.connections_per_account = 2;
  Start();
  RpcClient here = ConnectAs(HereOrNot(1001, CallerPlace::kHere));
  RpcClient elsewhere = ConnectAs(HereOrNot(1001, CallerPlace::kElsewhere));
  RpcClient unknown = ConnectAs(HereOrNot(1001, CallerPlace::kUnknown));
  EXPECT_TRUE(AskStatus(here).ok());
  EXPECT_TRUE(AskStatus(elsewhere).ok());
  EXPECT_THAT(AskStatus(unknown).error_message(), HasSubstr("2 connections open"));
}

TEST_F(CallerServersTest, GivesAConnectionWithTheGroupsOfWhoeverAsked) {
  Start();
  Caller with_group = HereOrNot(1001, CallerPlace::kHere);
  with_group.groups = {44, 1001};
  Caller without = with_group;
  without.groups = {1001};
  RpcClient first = ConnectAs(with_group);
  RpcClient second = ConnectAs(without);
  EXPECT_TRUE(AskStatus(first).ok());
  EXPECT_TRUE(AskStatus(second).ok());
  OnLoop([&] {
    EXPECT_EQ(servers_->servers(), 2u);
    for (const std::vector<uint32_t>& groups : {std::vector<uint32_t>{44, 1001}, {1001}}) {
      EXPECT_TRUE(Shown(1001, groups).copy.valid());
      EXPECT_FALSE(Shown(1001, groups, Shown(1001, groups).id).copy.valid());
    }
    EXPECT_FALSE(Shown(1001, {27, 1001}).copy.valid());
  });
}

TEST_F(CallerServersTest, TheLogSaysWhomItTurnsAway) {
  Start();
  testing::internal::CaptureStderr();
  RpcClient client = Connect(4242, Role::kNone);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("turns somebody away caller=\"uid 4242\""));
}

TEST_F(CallerServersTest, WhoHasNoRoleTakesNobodysPlace) {
  server_limits_.callers = 2;
  server_limits_.connections = 3;
  server_limits_.turned_away = 5;
  Start();
  RpcClient here = Connect(1001);
  EXPECT_TRUE(AskStatus(here).ok());
  for (uint32_t uid = 10'000; uid < 20'000; ++uid) {
    RpcClient client = Connect(uid, Role::kNone);
    if (uid == 10'000) {
      EXPECT_EQ(AskStatus(client).error_code(), grpc::StatusCode::PERMISSION_DENIED);
    }
  }
  EXPECT_EQ(Servers(), 2u);  // one serves, one refuses them all
  OnLoop([&] { EXPECT_EQ(servers_->turned_away(), 10'000); });
  RpcClient comes = Connect(1002);
  EXPECT_TRUE(AskStatus(comes).ok());
  EXPECT_TRUE(AskStatus(here).ok());
}

Caller SubordinateOf(uint32_t owner, uint32_t uid) {
  Caller caller{uid, Role::kViewer, true, {}};
  caller.counts_as = owner;
  return caller;
}

TEST_F(CallerServersTest, SubordinateUidsHaveTheLimitsOfTheirOwnerBetweenThem) {
  server_limits_.connections_per_account = 3;
  server_limits_.calls.per_second = 5;
  Start();
  RpcClient owner = Connect(1000);
  RpcClient first = ConnectAs(SubordinateOf(1000, 100'000));
  RpcClient second = ConnectAs(SubordinateOf(1000, 100'001));
  uint32_t uid = 0;
  EXPECT_TRUE(AskStatus(first, &uid).ok());
  EXPECT_EQ(uid, 100'000u);  // who it is stays who it is
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(AskStatus(owner).ok());
    EXPECT_TRUE(AskStatus(first).ok());
    EXPECT_TRUE(AskStatus(second).ok());
  }
  const grpc::Status too_fast = AskStatus(second);
  EXPECT_EQ(too_fast.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(too_fast.error_message(), HasSubstr("uid 1000 made more than 5 calls a second"));
  RpcClient third = ConnectAs(SubordinateOf(1000, 100'002));
  EXPECT_THAT(AskStatus(third).error_message(), HasSubstr("3 connections open"));
  RpcClient other = Connect(2000);
  EXPECT_TRUE(AskStatus(other).ok());
}

TEST_F(CallerServersTest, OneUserWithManyUidsLeavesRoomForOthers) {
  server_limits_.callers = 6;
  server_limits_.callers_per_account = 4;
  Start();
  std::vector<RpcClient> many;
  for (uint32_t uid = 100'000; uid < 100'010; ++uid) many.push_back(ConnectAs(SubordinateOf(1000, uid)));
  EXPECT_TRUE(AskStatus(many[3]).ok());
  EXPECT_THAT(AskStatus(many[4]).error_message(), HasSubstr("subordinate uids, places and certificates at a time"));
  RpcClient other = Connect(2000);
  EXPECT_TRUE(AskStatus(other).ok());
}

TEST_F(CallerServersTest, BytesThatAreNoHttpEndTheirConnectionAndNoOther) {
  Start();
  RpcClient other = Connect();
  EXPECT_TRUE(AskStatus(other).ok());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  UniqueFd hostile(ends[1]);
  OnLoop([&] { servers_->Serve(Caller{1001, Role::kViewer, true, {}}, UniqueFd(ends[0])); });
  const std::string garbage(1000, '\xff');
  ASSERT_GT(::send(hostile.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(Until([&] {
    char buffer[256];
    return ::recv(hostile.get(), buffer, sizeof buffer, 0) == 0;
  }));
  EXPECT_TRUE(Until([&] { return Connections() == 1; }));
  EXPECT_TRUE(AskStatus(other).ok());
}

}  // namespace
}  // namespace kprof
