#include "client/cpp/rpc_error.h"

#include <gtest/gtest.h>

#include "kprof/v1/error.pb.h"

namespace kprof {
namespace {

RpcFailure FailureWith(int grpc_code, const std::string& name) {
  v1::ErrorDetail detail;
  detail.set_code(name);
  detail.set_what("do it");
  detail.set_why("it cannot be");
  detail.set_remedy("do not");
  v1::RpcStatus status;
  status.add_details()->PackFrom(detail);
  return RpcFailure{grpc_code, "gRPC's words", status.SerializeAsString()};
}

struct KnownName {
  ErrorCode code;
  int exit_status;
};

class RpcErrorDetail : public testing::TestWithParam<KnownName> {};

TEST_P(RpcErrorDetail, BecomesTheCodeOfThatName) {
  ErrorCode code = GetParam().code;
  RpcFailure failure = FailureWith(static_cast<int>(CanonicalOf(code)), std::string(ErrorName(code)));
  Status status = StatusOfRpc(failure, "call");
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.ToString(), "do it: it cannot be; do not");
  EXPECT_EQ(ExitStatusOf(status.code()), GetParam().exit_status);
}

INSTANTIATE_TEST_SUITE_P(AllCodes, RpcErrorDetail,
                         testing::Values(KnownName{ErrorCode::kInternal, 1}, KnownName{ErrorCode::kUsage, 2},
                                         KnownName{ErrorCode::kNoDaemon, 3}, KnownName{ErrorCode::kNotFound, 4},
                                         KnownName{ErrorCode::kNotPermitted, 5}, KnownName{ErrorCode::kQueueTimeout, 6},
                                         KnownName{ErrorCode::kLeaseLost, 6}, KnownName{ErrorCode::kQueueFull, 6},
                                         KnownName{ErrorCode::kCommandFailed, 7}, KnownName{ErrorCode::kSpawnFailed, 7},
                                         KnownName{ErrorCode::kTimedOut, 7}, KnownName{ErrorCode::kToolFailed, 7},
                                         KnownName{ErrorCode::kToolMissing, 7}, KnownName{ErrorCode::kCancelled, 8},
                                         KnownName{ErrorCode::kClientGone, 8}, KnownName{ErrorCode::kVerdict, 9},
                                         KnownName{ErrorCode::kBadInput, 10}, KnownName{ErrorCode::kLostDaemon, 11},
                                         KnownName{ErrorCode::kStorageFull, 12},
                                         KnownName{ErrorCode::kStorageBroken, 12}));

struct Fallback {
  CanonicalCode canonical;
  ErrorCode code;
};

class UnknownName : public testing::TestWithParam<Fallback> {};

TEST_P(UnknownName, FallsBackOnTheGrpcCode) {
  RpcFailure failure = FailureWith(static_cast<int>(GetParam().canonical), "a_name_of_the_future");
  Status status = StatusOfRpc(failure, "call");
  EXPECT_EQ(status.code(), GetParam().code);
  EXPECT_EQ(status.why(), "it cannot be");
}

INSTANTIATE_TEST_SUITE_P(AllCodes, UnknownName,
                         testing::Values(Fallback{CanonicalCode::kCancelled, ErrorCode::kCancelled},
                                         Fallback{CanonicalCode::kUnknown, ErrorCode::kInternal},
                                         Fallback{CanonicalCode::kInvalidArgument, ErrorCode::kUsage},
                                         Fallback{CanonicalCode::kDeadlineExceeded, ErrorCode::kTimedOut},
                                         Fallback{CanonicalCode::kNotFound, ErrorCode::kNotFound},
                                         Fallback{CanonicalCode::kAlreadyExists, ErrorCode::kUsage},
                                         Fallback{CanonicalCode::kPermissionDenied, ErrorCode::kNotPermitted},
                                         Fallback{CanonicalCode::kResourceExhausted, ErrorCode::kQueueFull},
                                         Fallback{CanonicalCode::kFailedPrecondition, ErrorCode::kToolFailed},
                                         Fallback{CanonicalCode::kAborted, ErrorCode::kLeaseLost},
                                         Fallback{CanonicalCode::kOutOfRange, ErrorCode::kUsage},
                                         Fallback{CanonicalCode::kUnimplemented, ErrorCode::kInternal},
                                         Fallback{CanonicalCode::kInternal, ErrorCode::kInternal},
                                         Fallback{CanonicalCode::kUnavailable, ErrorCode::kNoDaemon},
                                         Fallback{CanonicalCode::kDataLoss, ErrorCode::kStorageBroken},
                                         Fallback{CanonicalCode::kUnauthenticated, ErrorCode::kNotPermitted}));

TEST(RpcError, WithoutDetailUsesGrpcsWords) {
  Status status = StatusOfRpc({static_cast<int>(CanonicalCode::kInvalidArgument), "too long", ""}, "submit a run");
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_EQ(status.ToString(), "submit a run: too long");
}

TEST(RpcError, DetailsThatAreGarbageAreIgnored) {
  Status status = StatusOfRpc({static_cast<int>(CanonicalCode::kNotFound), "gone", "\xff\xff\xff"}, "look up run 1");
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.why(), "gone");
}

TEST(RpcError, NamingOkIsNoSuccess) {
  EXPECT_EQ(StatusOfRpc(FailureWith(13, "ok"), "call").code(), ErrorCode::kInternal);
}

TEST(RpcError, ABrokenConnectionAndASilentDaemonAreNoDaemon) {
  EXPECT_EQ(StatusOfRpc({14, "Socket closed", ""}, "call").code(), ErrorCode::kNoDaemon);
  EXPECT_EQ(StatusOfRpc({4, "Deadline Exceeded", ""}, "call").code(), ErrorCode::kNoDaemon);
}

TEST(RpcError, AnUnknownCallSaysWhichSideToUpdate) {
  EXPECT_EQ(VersionMismatch("call", "0.1.0", "0.10.0").ToString(),
            "call: kprofd 0.1.0 does not know this call: it is older than this client (0.10.0); "
            "update kprofd to the client's version, or use a client of the daemon's");
  EXPECT_EQ(VersionMismatch("call", "0.10.0", "0.9.0").ToString(),
            "call: kprofd 0.10.0 does not know this call: it is newer than this client (0.9.0); "
            "update the client to the daemon's version");
}

}  // namespace
}  // namespace kprof
