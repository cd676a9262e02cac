#include "client/cli/views/run_text.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

v1::Run Ended(v1::RunState state, const std::string& code) {
  v1::Run run;
  run.set_id("01jd");
  run.set_state(state);
  if (!code.empty()) {
    run.mutable_error()->set_code(code);
    run.mutable_error()->set_message("why");
    run.mutable_error()->set_remedy("remedy");
  }
  return run;
}

struct Case {
  const char* code;
  int exit_status;
};

class FailedRun : public testing::TestWithParam<Case> {};

// The table of docs/cli.md.
TEST_P(FailedRun, ExitsAsTheContractSays) {
  Status outcome = OutcomeOf(Ended(v1::RUN_STATE_FAILED, GetParam().code));
  EXPECT_EQ(ExitStatusOf(outcome.code()), GetParam().exit_status);
  EXPECT_EQ(outcome.ToString(), "run 01jd failed: why; remedy");
}

INSTANTIATE_TEST_SUITE_P(Codes, FailedRun,
                         testing::Values(Case{"internal", 1}, Case{"usage", 2}, Case{"not_found", 4},
                                         Case{"not_permitted", 5}, Case{"queue_timeout", 6}, Case{"lease_lost", 6},
                                         Case{"queue_full", 6}, Case{"command_failed", 7}, Case{"spawn_failed", 7},
                                         Case{"timed_out", 7}, Case{"tool_failed", 7}, Case{"tool_missing", 7},
                                         Case{"cancelled", 8}, Case{"client_gone", 8}, Case{"verdict", 9},
                                         Case{"bad_input", 10}, Case{"lost_daemon", 11}, Case{"storage_full", 12},
                                         Case{"storage_broken", 12}, Case{"a_name_of_the_future", 1}));

TEST(RunOutcome, ADoneOrUnfinishedRunIsNoFailure) {
  EXPECT_TRUE(OutcomeOf(Ended(v1::RUN_STATE_DONE, "")).ok());
  EXPECT_TRUE(OutcomeOf(Ended(v1::RUN_STATE_RUNNING, "")).ok());
}

TEST(RunOutcome, ACancelledRunIsCancelledEvenWithoutAReason) {
  Status outcome = OutcomeOf(Ended(v1::RUN_STATE_CANCELLED, ""));
  EXPECT_EQ(outcome.code(), ErrorCode::kCancelled);
  EXPECT_EQ(outcome.ToString(), "run 01jd was cancelled: no reason is known");
}

TEST(RunOutcome, DoesNotNameTheRunTwice) {
  v1::Run run = Ended(v1::RUN_STATE_FAILED, "timed_out");
  run.mutable_error()->set_message("run 01jd: its time was up");
  EXPECT_EQ(OutcomeOf(run).ToString(), "run 01jd failed: its time was up; remedy");
}

TEST(RunOutcome, NamesStatesBothWays) {
  for (v1::RunState state :
       {v1::RUN_STATE_QUEUED, v1::RUN_STATE_PREPARING, v1::RUN_STATE_RUNNING, v1::RUN_STATE_COLLECTING,
        v1::RUN_STATE_DONE, v1::RUN_STATE_FAILED, v1::RUN_STATE_CANCELLED}) {
    EXPECT_EQ(RunStateByName(RunStateName(state)), state);
  }
  EXPECT_EQ(RunStateByName("paused"), std::nullopt);
  EXPECT_EQ(RunStateName(static_cast<v1::RunState>(42)), "state-42");
}

TEST(RunOutcome, SaysHowTheCommandEnded) {
  v1::Run run;
  EXPECT_EQ(ExitText(run), "");
  run.set_signal(9);
  EXPECT_EQ(ExitText(run), "signal 9 (SIGKILL)");
  run.set_signal(77);
  EXPECT_EQ(ExitText(run), "signal 77");
  run.clear_signal();
  run.set_exit_code(0);
  EXPECT_EQ(ExitText(run), "exit 0");
}

}  // namespace
}  // namespace kprof::cli
