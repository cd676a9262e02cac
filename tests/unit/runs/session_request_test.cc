#include "daemon/runs/sessions/session_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace kprof {
namespace {

using testing::HasSubstr;

TEST(CheckSessionRequest, TakesWhatIsSound) {
  SessionRequest request;
  EXPECT_TRUE(CheckSessionRequest(request).ok());
  request.attached = false;
  request.ttl_ms = 30LL * 24 * 3600 * 1000;
  request.idle_timeout_ms = 1;
  request.queue_timeout_ms = 1;
  request.priority = 100;
  request.labels = {{"loop", "7"}};
  request.clocks = "lock=1980";
  EXPECT_TRUE(CheckSessionRequest(request).ok());
}

TEST(CheckSessionRequest, RefusesEachThingThatIsOff) {
  struct Case {
    const char* says;
    std::function<void(SessionRequest&)> spoil;
  };
  const Case cases[] = {
      {"device selector", [](SessionRequest& r) { r.device = std::string(2000, '0'); }},
      {"usable name", [](SessionRequest& r) { r.labels["a b"] = ""; }},
      {"TTL is negative", [](SessionRequest& r) { r.ttl_ms = -1; }},
      {"TTL is over", [](SessionRequest& r) { r.ttl_ms = INT64_MAX; }},
      {"idle timeout", [](SessionRequest& r) { r.idle_timeout_ms = -1; }},
      {"queue timeout", [](SessionRequest& r) { r.queue_timeout_ms = -1; }},
      {"priority of 101", [](SessionRequest& r) { r.priority = 101; }},
      {"priority of -1", [](SessionRequest& r) { r.priority = -1; }},
      {"ends with its client", [](SessionRequest& r) { r.ttl_ms = 5; }},
      {"ends with its client", [](SessionRequest& r) { r.idle_timeout_ms = 5; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = ""; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = "fast"; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = "lock="; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = "lock=0"; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = "lock=1e3"; }},
      {"no clock policy", [](SessionRequest& r) { r.clocks = "lock=123456"; }},
  };
  for (const Case& c : cases) {
    SessionRequest request;
    c.spoil(request);
    Status status = CheckSessionRequest(request);
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << c.says;
    EXPECT_THAT(status.ToString(), HasSubstr(c.says));
  }
}

}  // namespace
}  // namespace kprof
