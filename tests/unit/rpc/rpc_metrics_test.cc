#include "daemon/rpc/rpc_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::Not;

class RpcMetricsTest : public testing::Test {
 protected:
  void End(Rpc rpc, CanonicalCode code = CanonicalCode::kOk, int64_t duration_ns = 1) {
    rpcs_.CallEnded(rpc, code, duration_ns);
  }

  Metrics metrics_;
  ConnectionMetrics connections_{metrics_};
  RpcMetrics rpcs_{metrics_, connections_};
};

TEST_F(RpcMetricsTest, CountWhatIsUnderWay) {
  rpcs_.CallBegan(Rpc::kGetRun);
  rpcs_.CallBegan(Rpc::kWatchRun);
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpcs_in_flight 2\n"));
  End(Rpc::kGetRun);
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_rpcs_in_flight 1\n"));
}

TEST_F(RpcMetricsTest, TimeCallsByMethod) {
  End(Rpc::kGetRun, CanonicalCode::kOk, 2'000'000);
  const std::string text = metrics_.Text();
  const std::string get_run = "kprof_rpc_seconds_bucket{method=\"kprof.v1.RunsService/GetRun\",";
  EXPECT_THAT(text, HasSubstr(get_run + "le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(get_run + "le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kprof_rpc_seconds_count{method=\"kprof.v1.NodeService/GetStatus\"} 0\n"));
}

TEST_F(RpcMetricsTest, CountErrorsByMethodAndCode) {
  End(Rpc::kGetRun);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("kprof_rpc_errors_total{")));
  End(Rpc::kWatchRun, CanonicalCode::kPermissionDenied);
  End(Rpc::kHoldRun, CanonicalCode::kPermissionDenied);
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("kprof_rpc_errors_total{method=\"kprof.v1.RunsService/WatchRun\",code=\"PERMISSION_DENIED\"} 2\n"));
}

TEST_F(RpcMetricsTest, TakeACodeThatNobodyKnows) {
  End(Rpc::kGetRun, static_cast<CanonicalCode>(99));
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("kprof_rpc_errors_total{method=\"kprof.v1.RunsService/GetRun\",code=\"UNKNOWN\"} 1\n"));
}

TEST_F(RpcMetricsTest, CountConnections) {
  rpcs_.ConnectionOpened();
  rpcs_.ConnectionOpened();
  rpcs_.ConnectionEnded();
  rpcs_.ConnectionRefused(Caller{.uid = 7}, Fail(ErrorCode::kNotPermitted, "connect", "your user has no role"));
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("kprof_connections_open{listener=\"rpc\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kprof_connections_accepted_total{listener=\"rpc\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("kprof_connections_refused_total{listener=\"rpc\",reason=\"not_permitted\"} 1\n"));
}

}  // namespace
}  // namespace kprof
