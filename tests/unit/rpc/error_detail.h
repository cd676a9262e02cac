// The ErrorDetail in a failed call's trailer, which has exactly one and the call's own code.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "kprof/v1/error.pb.h"

namespace kprof {

inline v1::ErrorDetail DetailOf(const grpc::Status& status) {
  v1::RpcStatus wire;
  EXPECT_TRUE(wire.ParseFromString(status.error_details()));
  EXPECT_EQ(wire.code(), status.error_code());
  v1::ErrorDetail detail;
  EXPECT_EQ(wire.details_size(), 1);
  if (wire.details_size() == 1) {
    EXPECT_TRUE(wire.details(0).UnpackTo(&detail));
  }
  return detail;
}

}  // namespace kprof
