#include "daemon/rpc/authorize.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(AuthorizeRun, FollowsItsTable) {
  struct Case {
    const char* who;
    Caller caller;
    bool shared;
    RunAction action;
    ErrorCode expected;
  };
  const Caller owner{1000, false};
  const Caller other{2000, false};
  const Caller operator_{3000, true};
  const Case cases[] = {
      {"owner sees", owner, false, RunAction::kSee, ErrorCode::kOk},
      {"owner changes", owner, false, RunAction::kChange, ErrorCode::kOk},
      {"other does not know it exists", other, false, RunAction::kSee, ErrorCode::kNotFound},
      {"other cannot even be told no", other, false, RunAction::kChange, ErrorCode::kNotFound},
      {"other sees a shared one", other, true, RunAction::kSee, ErrorCode::kOk},
      {"other may not change a shared one", other, true, RunAction::kChange, ErrorCode::kNotPermitted},
      {"operator sees", operator_, false, RunAction::kSee, ErrorCode::kOk},
      {"operator changes", operator_, false, RunAction::kChange, ErrorCode::kOk},
  };
  for (const Case& c : cases) {
    RunRow run;
    run.uid = 1000;
    run.shared = c.shared;
    EXPECT_EQ(AuthorizeRun(c.caller, c.action, run, "act").code(), c.expected) << c.who;
  }
}

}  // namespace
}  // namespace kprof
