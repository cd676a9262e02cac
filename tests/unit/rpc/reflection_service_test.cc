#include "daemon/rpc/services/reflection_service.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using grpc::reflection::v1::ServerReflection;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using testing::Contains;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class ReflectionServiceTest : public RpcFixture, public testing::Test {
 protected:
  // A stream of one client.
  struct Stream {
    explicit Stream(const RpcClient& client)
        : stub(ServerReflection::NewStub(client.channel)), calls(stub->ServerReflectionInfo(&context)) {}
    bool Ask(const ServerReflectionRequest& question) { return calls->Write(question) && calls->Read(&answer); }
    grpc::Status Finish() {
      calls->WritesDone();
      return calls->Finish();
    }
    CallContext context;
    std::unique_ptr<ServerReflection::Stub> stub;
    std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>> calls;
    ServerReflectionResponse answer;
  };
  static ServerReflectionRequest ListServices() {
    ServerReflectionRequest question;
    question.set_list_services("*");
    return question;
  }
  static ServerReflectionRequest FileOf(const std::string& symbol) {
    ServerReflectionRequest question;
    question.set_file_containing_symbol(symbol);
    return question;
  }
};

TEST_F(ReflectionServiceTest, ListsTheServices) {
  Start();
  RpcClient client = Connect();
  Stream stream(client);
  ASSERT_TRUE(stream.Ask(ListServices()));
  std::vector<std::string> names;
  for (const auto& service : stream.answer.list_services_response().service()) names.push_back(service.name());
  EXPECT_THAT(names,
              UnorderedElementsAre("kprof.v1.NodeService", "kprof.v1.RunsService", "kprof.v1.QueriesService",
                                   "kprof.v1.AnalysisService", "kprof.v1.SessionsService", "grpc.health.v1.Health",
                                   "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(ReflectionServiceTest, GivesEachServicesFileWithAllThatItNeeds) {
  Start();
  RpcClient client = Connect();
  Stream stream(client);
  ASSERT_TRUE(stream.Ask(FileOf("kprof.v1.RunsService")));
  EXPECT_EQ(stream.answer.original_request().file_containing_symbol(), "kprof.v1.RunsService");
  std::vector<std::string> files;
  for (const std::string& bytes : stream.answer.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    for (const std::string& needed : file.dependency()) EXPECT_THAT(files, Contains(needed)) << file.name();
    files.push_back(file.name());
  }
  EXPECT_THAT(files, Contains("kprof/v1/runs.proto"));
  ASSERT_TRUE(stream.Ask(FileOf("kprof.v1.Nothing")));
  EXPECT_EQ(stream.answer.error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(stream.Ask(ServerReflectionRequest()));
  EXPECT_EQ(stream.answer.error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(stream.Finish().ok());
}

// Tools from before v1.
TEST_F(ReflectionServiceTest, AnswersTheSameUnderItsOlderName) {
  Start();
  RpcClient client = Connect();
  CallContext context;
  auto stub = grpc::reflection::v1alpha::ServerReflection::NewStub(client.channel);
  auto calls = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1alpha::ServerReflectionRequest question;
  question.set_file_containing_symbol("kprof.v1.RunsService");
  grpc::reflection::v1alpha::ServerReflectionResponse older;
  ASSERT_TRUE(calls->Write(question) && calls->Read(&older));
  Stream stream(client);
  ASSERT_TRUE(stream.Ask(FileOf("kprof.v1.RunsService")));
  EXPECT_EQ(older.SerializeAsString(), stream.answer.SerializeAsString());
  calls->WritesDone();
  EXPECT_TRUE(calls->Finish().ok());
}

TEST_F(ReflectionServiceTest, EachQuestionCountsAsACall) {
  server_limits_.calls.per_second = 5;  // twice as many may come at once
  Start();
  RpcClient client = Connect();
  Stream stream(client);
  int answers = 0;
  while (stream.Ask(ListServices())) ++answers;
  EXPECT_EQ(answers, 9);  // the stream is one, too
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ReflectionServiceTest, StreamsAreAmongTheWatchesThatAUserMayHave) {
  server_limits_.calls.watches = 1;
  Start();
  RpcClient client = Connect();
  Stream first(client);
  ASSERT_TRUE(first.Ask(ListServices()));
  Stream second(client);
  EXPECT_FALSE(second.Ask(ListServices()));
  EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(first.Finish().ok());
}

TEST_F(ReflectionServiceTest, TakesNoLongQuestion) {
  Start();
  RpcClient client = Connect();
  Stream stream(client);
  EXPECT_FALSE(stream.Ask(FileOf(std::string(1 << 20, 'x'))));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ReflectionServiceTest, TellsWhoHasNoRoleWhyAndNothingElse) {
  Start();
  RpcClient nobody = Connect(1001, Role::kNone);
  Stream stream(nobody);
  EXPECT_FALSE(stream.Ask(ListServices()));
  const grpc::Status refused = stream.Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("no role on this node"));
}

}  // namespace
}  // namespace kprof
