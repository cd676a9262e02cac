#include "daemon/web/web_thread.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

std::optional<HttpResponse> Ask(const HttpHandler& handler) {
  // Shared with the response, which may come later.
  auto answer = std::make_shared<std::optional<HttpResponse>>();
  handler({"/", ""}, [answer](HttpResponse response) { *answer = std::move(response); });
  return *answer;
}

TEST(MetricsPage, IsTheText) {
  Metrics metrics;
  metrics.AddGauge("one", "One.").Set(1);
  WorkerPool inline_pool({.threads = 0});
  std::optional<HttpResponse> response = Ask(MetricsPage(metrics, inline_pool));
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response->body, "# HELP one One.\n# TYPE one gauge\none 1\n");
}

TEST(MetricsPage, IsUnavailableWhenNobodyCanMakeIt) {
  Metrics metrics;
  WorkerPool full_pool({.threads = 1, .queue_limit_jobs = 0});
  std::optional<HttpResponse> response = Ask(MetricsPage(metrics, full_pool));
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 503);
}

TEST(HealthPage, SaysOkOrWhyNot) {
  FakeClock clock;
  IoLoop loop(clock);
  std::string trouble;
  const HttpHandler page = HealthPage(loop, [&trouble] { return trouble; });
  std::optional<HttpResponse> answer;
  auto ask = [&] {
    answer.reset();
    page({"/healthz", ""}, [&](HttpResponse response) { answer = std::move(response); });
    EXPECT_FALSE(answer.has_value()) << "a loop that does not turn answers nothing";
    loop.RunUntilIdle();
  };
  ask();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "ok\n");
  trouble = "the catalog is damaged";
  ask();
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "the catalog is damaged\n");
}

}  // namespace
}  // namespace kprof
