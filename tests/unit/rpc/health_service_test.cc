#include "daemon/rpc/services/health_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::HasSubstr;

class HealthServiceTest : public RpcFixture, public testing::Test {
 protected:
  static HealthCheckRequest Of(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    return request;
  }
  static grpc::Status Check(const RpcClient& client, const std::string& service, HealthCheckResponse& response) {
    CallContext context;
    return Health::NewStub(client.channel)->Check(&context, Of(service), &response);
  }
};

TEST_F(HealthServiceTest, SaysThatAllAndEachOfItServesUntilTheEndIsAnnounced) {
  Start();
  RpcClient client = Connect();
  for (const char* service : {"", "kprof.v1.RunsService", "grpc.health.v1.Health"}) {
    HealthCheckResponse response;
    EXPECT_TRUE(Check(client, service, response).ok()) << service;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << service;
  }
  OnLoop([&] { servers_->AnnounceEnd(); });
  HealthCheckResponse response;
  EXPECT_TRUE(Check(client, "", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthServiceTest, KnowsNoServiceThatIsNotServed) {
  Start();
  RpcClient client = Connect();
  HealthCheckResponse response;
  EXPECT_EQ(Check(client, "nope", response).error_code(), grpc::StatusCode::NOT_FOUND);
  CallContext context;
  auto watch = Health::NewStub(client.channel)->Watch(&context, Of("nope"));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthServiceTest, TellsWhoWatchesWhenTheEndIsAnnounced) {
  Start();
  RpcClient client = Connect();
  CallContext context;
  auto watch = Health::NewStub(client.channel)->Watch(&context, Of(""));
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  OnLoop([&] { servers_->AnnounceEnd(); });
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthServiceTest, WatchesAreAmongThoseThatAUserMayHave) {
  server_limits_.calls.watches = 1;
  Start();
  RpcClient client = Connect();
  CallContext first_context, second_context;
  auto first = Health::NewStub(client.channel)->Watch(&first_context, Of(""));
  HealthCheckResponse response;
  ASSERT_TRUE(first->Read(&response));
  auto second = Health::NewStub(client.channel)->Watch(&second_context, Of(""));
  EXPECT_FALSE(second->Read(&response));
  const grpc::Status refused = second->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  first_context.TryCancel();
  EXPECT_EQ(first->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthServiceTest, TellsWhoHasNoRoleWhyAndNothingElse) {
  Start();
  RpcClient nobody = Connect(1001, Role::kNone);
  HealthCheckResponse response;
  const grpc::Status refused = Check(nobody, "", response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("no role on this node"));
}

}  // namespace
}  // namespace kprof
