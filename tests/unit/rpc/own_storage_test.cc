// What users are told of what they have stored: in the status, and by the doctor before they are refused.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class OwnStorageTest : public RpcFixture, public testing::Test {
 protected:
  OwnStorageTest() { Start(); }

  static v1::StoredByUser Ask(RpcClient& client) {
    CallContext context;
    v1::GetStatusResponse status;
    EXPECT_TRUE(client.node->GetStatus(&context, v1::GetStatusRequest(), &status).ok());
    return status.storage().own();
  }

  // What the doctor says of it; empty: nothing.
  static std::string Diagnosis(RpcClient& client) {
    CallContext context;
    v1::DiagnoseResponse response;
    EXPECT_TRUE(client.node->Diagnose(&context, v1::DiagnoseRequest(), &response).ok());
    for (const v1::Diagnosis& diagnosis : response.diagnoses()) {
      if (diagnosis.check() == "own_storage") return diagnosis.message();
    }
    return "";
  }
};

TEST_F(OwnStorageTest, IsEachUsersOwn) {
  storage_limits_.Set({.runs_per_uid = 7, .bytes_per_uid = 1 << 20});
  RpcClient owner = Connect(kUid);
  RpcClient other = Connect(kUid + 1);
  StoreEnded("0100000000000001", {{"a", std::string(3000, 'a')}});
  const v1::StoredByUser own = Ask(owner);
  EXPECT_EQ(own.runs(), 1);
  EXPECT_GE(own.bytes(), 3000);
  EXPECT_EQ(own.limit_runs(), 7);
  EXPECT_EQ(own.limit_bytes(), 1 << 20);
  EXPECT_EQ(Ask(other).runs(), 0);
  EXPECT_EQ(Ask(other).bytes(), 0);
}

TEST_F(OwnStorageTest, IsWarnedOfBeforeItIsFull) {
  RpcClient owner = Connect(kUid);
  StoreEnded("0100000000000001");
  EXPECT_EQ(Diagnosis(owner), "") << "no limit";
  storage_limits_.Set({.runs_per_uid = 100, .bytes_per_uid = 1 << 30});
  EXPECT_EQ(Diagnosis(owner), "");
  storage_limits_.Set({.runs_per_uid = 1});
  EXPECT_EQ(Diagnosis(owner),
            "you have 1 runs and 0 MiB stored, and may have 1 runs: then captures are refused with storage_full");
  RpcClient other = Connect(kUid + 1);
  EXPECT_EQ(Diagnosis(other), "");
}

}  // namespace
}  // namespace kprof
