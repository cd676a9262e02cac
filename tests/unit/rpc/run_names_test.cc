// What a run may be called, as a client on the wire sees it.
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class RunNames : public testing::Test, public RpcFixture {
 protected:
  static constexpr uint32_t kOther = kUid + 1;

  // Three runs of one user, two of another, one of which is shared; in this order of age.
  void StartWithRuns() {
    Start();
    StoreEnded("01aaaaaaaaaaaaaa");
    StoreEnded("01bbbbbbbbbbbbb1");
    StoreEnded("01cccccccccccccc", {}, kOther);
    RunRow shared = EndedRun("01dddddddddddddd", 1, 0);
    shared.uid = kOther;
    shared.shared = true;
    Store(std::move(shared));
    StoreEnded("01bbbbbbbbbbbbb2");
  }

  // The whole id of what that name means, or the error's code.
  std::string LookUp(RpcClient& client, const std::string& name, grpc::Status* status = nullptr) {
    v1::GetRunRequest request;
    request.set_id(name);
    v1::GetRunResponse response;
    CallContext context;
    grpc::Status answered = client.runs->GetRun(&context, request, &response);
    if (status != nullptr) *status = answered;
    return answered.ok() ? response.run().id() : DetailOf(answered).code();
  }
};

TEST_F(RunNames, NamesResolveWithinWhatTheCallerSees) {
  StartWithRuns();
  RpcClient owner = Connect(kUid);
  RpcClient other = Connect(kOther);
  RpcClient op = Connect(7, Role::kOperator);
  struct Case {
    const char* name;
    const char* for_owner;
    const char* for_other;
    const char* for_operator;
  };
  const Case cases[] = {
      {"01aaaaaaaaaaaaaa", "01aaaaaaaaaaaaaa", "not_found", "01aaaaaaaaaaaaaa"},
      {"01AAAAAAAAAAAAAA", "01aaaaaaaaaaaaaa", "not_found", "01aaaaaaaaaaaaaa"},
      {"01a", "01aaaaaaaaaaaaaa", "not_found", "01aaaaaaaaaaaaaa"},
      {"01b", "usage", "not_found", "usage"},
      {"01bbbbbbbbbbbbb1", "01bbbbbbbbbbbbb1", "not_found", "01bbbbbbbbbbbbb1"},
      {"01c", "not_found", "01cccccccccccccc", "01cccccccccccccc"},
      {"01cccccccccccccc", "not_found", "01cccccccccccccc", "01cccccccccccccc"},
      {"01dd", "01dddddddddddddd", "01dddddddddddddd", "01dddddddddddddd"},
      {"01", "usage", "usage", "usage"},
      {"@last", "01dddddddddddddd", "01dddddddddddddd", "01dddddddddddddd"},
      {"@last~0", "01dddddddddddddd", "01dddddddddddddd", "01dddddddddddddd"},
      {"@last~1", "01bbbbbbbbbbbbb2", "01cccccccccccccc", "01cccccccccccccc"},
      {"@last~3", "01aaaaaaaaaaaaaa", "not_found", "01bbbbbbbbbbbbb1"},
      {"@last~4", "not_found", "not_found", "01aaaaaaaaaaaaaa"},
      {"@last~99999999999999999999999", "not_found", "not_found", "not_found"},
      {"@last~", "usage", "usage", "usage"},
      {"@last~-1", "usage", "usage", "usage"},
      {"@last~1x", "usage", "usage", "usage"},
      {"@latest", "usage", "usage", "usage"},
      {"@", "usage", "usage", "usage"},
      {"", "usage", "usage", "usage"},
      {"zzzz", "not_found", "not_found", "not_found"},
      {"01aaaaaaaaaaaaaaa", "not_found", "not_found", "not_found"},
      {"../catalog.db", "not_found", "not_found", "not_found"},
      {"01a%", "not_found", "not_found", "not_found"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(LookUp(owner, c.name), c.for_owner) << c.name;
    EXPECT_EQ(LookUp(other, c.name), c.for_other) << c.name;
    EXPECT_EQ(LookUp(op, c.name), c.for_operator) << c.name;
  }
}

TEST_F(RunNames, AnAmbiguousBeginningNamesTwoThatItFits) {
  StartWithRuns();
  RpcClient owner = Connect();
  grpc::Status status;
  LookUp(owner, "01bb", &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).what(), "show run 01bb");
  EXPECT_EQ(DetailOf(status).why(), "more than one run begins so: 01bbbbbbbbbbbbb1, 01bbbbbbbbbbbbb2");
}

TEST_F(RunNames, ARunOfAnotherIsAsIfItWereNotThere) {
  StartWithRuns();
  RpcClient owner = Connect();
  grpc::Status of_another;
  grpc::Status of_nobody;
  LookUp(owner, "01cccccccccccccc", &of_another);
  LookUp(owner, "01cccccccccccccd", &of_nobody);
  EXPECT_EQ(of_another.error_code(), grpc::StatusCode::NOT_FOUND);
  std::string message = of_another.error_message();
  message.replace(message.find("cccccccccccccc"), 14, "cccccccccccccd");
  EXPECT_EQ(message, of_nobody.error_message());
}

TEST_F(RunNames, ASharedRunMayBeSeenAndNotChanged) {
  StartWithRuns();
  RpcClient owner = Connect();
  v1::DeleteRunRequest request;
  request.set_id("01dddddddddddddd");
  v1::DeleteRunResponse response;
  CallContext context;
  grpc::Status status = owner.runs->DeleteRun(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(DetailOf(status).why().find("uid 1001"), std::string::npos);
}

TEST_F(RunNames, AnOpenRunIsAsRunsHasIt) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  EXPECT_EQ(LookUp(client, "@last"), id);
  EXPECT_EQ(LookUp(client, id.substr(0, 15)), id);
  EndLast();
  EXPECT_TRUE(HasEnded(id));
  EXPECT_EQ(LookUp(client, "@last"), id);
}

}  // namespace
}  // namespace kprof
