#include "client/cli/waiting/progress.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

constexpr int64_t kProgressSecond = 1'000'000'000;

ProgressFacts Facts(v1::RunState state, int queue_position) {
  ProgressFacts facts;
  v1::Run& run = *facts.latest.mutable_run();
  run.set_id("01jd");
  run.set_state(state);
  run.add_devices("0");
  run.add_devices("1");
  run.set_queued_unix_ns(100 * kProgressSecond);
  if (state != v1::RUN_STATE_QUEUED) run.set_started_unix_ns(105 * kProgressSecond);
  facts.latest.set_queue_position(queue_position);
  facts.latest.set_now_unix_ns(110 * kProgressSecond);
  facts.received_ns = 5000 * kProgressSecond;  // this machine's clock is elsewhere
  return facts;
}

TEST(Progress, CountsTheQueue) {
  EXPECT_EQ(ProgressText(Facts(v1::RUN_STATE_QUEUED, 1), 5000 * kProgressSecond), "01jd  queued 10s, next");
  EXPECT_EQ(ProgressText(Facts(v1::RUN_STATE_QUEUED, 2), 5000 * kProgressSecond), "01jd  queued 10s, 1 before it");
  EXPECT_EQ(ProgressText(Facts(v1::RUN_STATE_QUEUED, 4), 5000 * kProgressSecond), "01jd  queued 10s, 3 before it");
  ProgressFacts facts = Facts(v1::RUN_STATE_QUEUED, 2);
  facts.latest.set_estimated_wait_ms(90'000);
  EXPECT_EQ(ProgressText(facts, facts.received_ns + 40 * kProgressSecond),
            "01jd  queued 50s, 1 before it, about 50s to wait");
}

TEST(Progress, CountsOnBetweenTheDaemonsMessages) {
  EXPECT_EQ(ProgressText(Facts(v1::RUN_STATE_RUNNING, 0), 5002 * kProgressSecond), "01jd  running 7s on 0,1");
}

TEST(Progress, SaysWhatIsHappeningToIt) {
  ProgressFacts facts = Facts(v1::RUN_STATE_RUNNING, 0);
  facts.cancelling = true;
  facts.disconnected = true;
  EXPECT_EQ(ProgressText(facts, 5000 * kProgressSecond),
            "01jd  running 5s on 0,1, cancelling (Ctrl-C again leaves at once), no connection to kprofd, trying again");
}

}  // namespace
}  // namespace kprof::cli
