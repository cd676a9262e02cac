#include "daemon/rpc/rpc_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::Not;

class RpcMetricsTest : public testing::Test {
 protected:
  const std::vector<std::string> methods_ = {"A/Get", "A/Watch", "A/Watch"};
  Metrics metrics_;
  RpcMetrics rpcs_{metrics_, methods_};
};

TEST_F(RpcMetricsTest, CountWhatIsUnderWay) {
  rpcs_.CallBegan();
  rpcs_.CallBegan();
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpcs_in_flight 2\n"));
  rpcs_.CallEnded(0, CanonicalCode::kOk, 1);
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpcs_in_flight 1\n"));
}

TEST_F(RpcMetricsTest, TimeCallsByMethod) {
  rpcs_.CallEnded(0, CanonicalCode::kOk, 2'000'000);
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("kprof_rpc_seconds_bucket{method=\"A/Get\",le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("kprof_rpc_seconds_bucket{method=\"A/Get\",le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kprof_rpc_seconds_count{method=\"A/Watch\"} 0\n"));
}

TEST_F(RpcMetricsTest, CountErrorsByMethodAndCode) {
  rpcs_.CallEnded(0, CanonicalCode::kOk, 1);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("kprof_rpc_errors_total{")));
  rpcs_.CallEnded(1, CanonicalCode::kPermissionDenied, 1);
  rpcs_.CallEnded(2, CanonicalCode::kPermissionDenied, 1);
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpc_errors_total{method=\"A/Watch\",code=\"PERMISSION_DENIED\"} 2\n"));
}

TEST_F(RpcMetricsTest, TakeACodeThatNobodyKnows) {
  rpcs_.CallEnded(0, static_cast<CanonicalCode>(99), 1);
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpc_errors_total{method=\"A/Get\",code=\"UNKNOWN\"} 1\n"));
}

}  // namespace
}  // namespace kprof
