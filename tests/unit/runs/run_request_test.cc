#include "daemon/runs/command/run_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace kprof {
namespace {

using testing::HasSubstr;

RunRequest GoodRun() {
  RunRequest request;
  request.tool = "command";
  request.argv = {"/bin/true", "\xff\xfe"};
  request.cwd = "/";
  request.environment = {"PATH=/bin", "ODD=\xff"};
  request.labels = {{"team/x", "a b"}};
  return request;
}

TEST(CheckRunRequest, TakesBytesThatAreNotUtf8) {
  EXPECT_TRUE(CheckRunRequest(GoodRun()).ok());
}

TEST(CheckRunRequest, TakesAVeryLongCommandLine) {
  RunRequest request = GoodRun();
  request.argv.push_back(std::string(64 << 10, 'x'));
  EXPECT_TRUE(CheckRunRequest(request).ok());
}

TEST(CheckRunRequest, RefusesEachThingThatIsOff) {
  struct Case {
    const char* says;
    std::function<void(RunRequest&)> spoil;
  };
  const Case cases[] = {
      {"zero byte", [](RunRequest& r) { r.argv.push_back(std::string("a\0b", 3)); }},
      {"zero byte", [](RunRequest& r) { r.environment.push_back(std::string("A=\0", 3)); }},
      {"no name", [](RunRequest& r) { r.environment.push_back("novalue"); }},
      {"no name", [](RunRequest& r) { r.environment.push_back("=x"); }},
      {"over the limit", [](RunRequest& r) { r.argv.push_back(std::string(3 << 20, 'x')); }},
      {"arguments", [](RunRequest& r) { r.argv.assign(20000, "x"); }},
      {"variables", [](RunRequest& r) { r.environment.assign(20000, "A=x"); }},
      {"absolute", [](RunRequest& r) { r.cwd = "relative"; }},
      {"absolute", [](RunRequest& r) { r.cwd = ""; }},
      {"zero byte", [](RunRequest& r) { r.cwd = std::string("/a\0b", 4); }},
      {"usable name", [](RunRequest& r) { r.labels["a b"] = "x"; }},
      {"usable name", [](RunRequest& r) { r.labels[""] = "x"; }},
      {"not UTF-8", [](RunRequest& r) { r.labels["a"] = "\xff"; }},
      {"bytes", [](RunRequest& r) { r.labels["a"] = std::string(5000, 'x'); }},
      {"labels",
       [](RunRequest& r) {
         for (int i = 0; i < 100; ++i) r.labels[std::to_string(i)] = "";
       }},
      {"negative", [](RunRequest& r) { r.timeout_ms = -1; }},
      {"30 days", [](RunRequest& r) { r.queue_timeout_ms = INT64_MAX; }},
      {"idempotency", [](RunRequest& r) { r.idempotency_key = std::string(65, 'x'); }},
  };
  for (const Case& c : cases) {
    RunRequest request = GoodRun();
    c.spoil(request);
    Status status = CheckRunRequest(request);
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << c.says;
    EXPECT_THAT(status.ToString(), HasSubstr(c.says));
  }
}

TEST(RunRequest, ATooLongSelectorIsToldWhatItCouldBe) {
  RunRequest request;
  request.device = std::string(2000, '0');
  EXPECT_EQ(CheckRunRequest(request, {}).remedy(), "name devices by number, or all");
}

}  // namespace
}  // namespace kprof
