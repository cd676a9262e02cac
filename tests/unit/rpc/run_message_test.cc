#include "daemon/rpc/messages/run_message.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(RunMessage, CarriesEveryFieldOfARow) {
  RunRow row;
  row.id = "01";
  row.uid = 7;
  row.tool = "command";
  row.state = RunState::kFailed;
  row.argv = {"a", "\xff"};
  row.cwd = "/\xfe";
  row.environment = {{"PATH", "/bin"}};
  row.labels = {{"k", "v"}};
  row.devices = {"cpu"};
  row.pinned = row.shared = row.attached = true;
  row.queued_ns = 1;
  row.started_ns = 2;
  row.ended_ns = 3;
  row.exit_code = 4;
  row.signal = 9;
  row.error = RunError{"command_failed", "m", "r"};
  row.trust = {{"c", "m"}};
  row.metrics = {{.name = "wall_ns", .value = 5, .unit = "ns", .kernel = "k", .launch = 6}};
  row.artifacts = {{"f", 8, "sum", "o/f"}};
  row.stdout_bytes = 10;
  row.stdout_dropped_bytes = 11;
  row.stderr_bytes = 12;
  row.stderr_dropped_bytes = 13;
  row.timeout_ms = 14;
  row.queue_timeout_ms = 15;
  row.session_id = "02";
  row.round = 16;
  row.priority = 17;
  row.clocks = "lock=1500";
  row.cool_down_ms = 18;
  row.exclusive = true;
  row.verdict = RunVerdict{"SAME", 1.5, std::nullopt, 2, {"drift"}};
  v1::Run run;
  FillRun(row, run);
  EXPECT_EQ(run.ShortDebugString(),
            "id: \"01\" state: RUN_STATE_FAILED uid: 7 tool: \"command\" argv: \"a\" argv: \"\\377\" cwd: \"/\\376\" "
            "environment { name: \"PATH\" value: \"/bin\" } labels { key: \"k\" value: \"v\" } devices: \"cpu\" "
            "pinned: true shared: true attached: true queued_unix_ns: 1 started_unix_ns: 2 ended_unix_ns: 3 "
            "exit_code: 4 signal: 9 error { code: \"command_failed\" message: \"m\" remedy: \"r\" } "
            "trust { code: \"c\" message: \"m\" } metrics { name: \"wall_ns\" value: 5 unit: \"ns\" kernel: \"k\" "
            "launch: 6 } artifacts { name: \"f\" size_bytes: 8 sha256: \"sum\" path: \"o/f\" } stdout_bytes: 10 "
            "stdout_dropped_bytes: 11 stderr_bytes: 12 stderr_dropped_bytes: 13 timeout_ms: 14 queue_timeout_ms: 15 "
            "artifact_count: 1 session_id: \"02\" round: 16 priority: 17 clocks: \"lock=1500\" cool_down_ms: 18 "
            "exclusive: true verdict { name: \"SAME\" ratio: 1.5 ci_high: 2 reasons: \"drift\" }");
}

TEST(RunMessage, StatesGoThereAndBack) {
  for (int i = 0; i <= static_cast<int>(RunState::kCancelled); ++i) {
    auto state = static_cast<RunState>(i);
    EXPECT_EQ(FromWire(ToWire(state)), state);
  }
}

TEST(RunMessage, ARequestIsTheCallersWhateverItSays) {
  v1::SubmitRunRequest message;
  message.set_idempotency_key("key");
  v1::RunSpec& spec = *message.mutable_spec();
  spec.set_tool("command");
  spec.add_argv("a");
  spec.set_cwd("/");
  spec.set_umask(01777);
  auto* variable = spec.add_environment();
  variable->set_name("A");
  variable->set_value("1=2");
  auto* limit = spec.add_limits();
  limit->set_resource(7);
  limit->set_soft(1);
  limit->set_hard(2);
  (*spec.mutable_labels())["k"] = "v";
  spec.set_device("all");
  spec.set_attached(true);
  spec.set_session_id("s");
  spec.set_priority(3);
  spec.set_clocks("base!");
  spec.set_cool_down_ms(4);
  spec.set_exclusive(true);
  RunRequest request = RequestOf(Caller{42, Role::kViewer, true, {}}, message);
  EXPECT_EQ(request.uid, 42u);
  EXPECT_EQ(request.environment, std::vector<std::string>{"A=1=2"});
  EXPECT_EQ(request.umask, 0777u);
  EXPECT_EQ(request.limits, (std::vector<ResourceLimit>{{7, 1, 2}}));
  EXPECT_EQ(request.labels.at("k"), "v");
  EXPECT_EQ(request.idempotency_key, "key");
  EXPECT_TRUE(request.attached);
  EXPECT_EQ(request.session_id, "s");
  EXPECT_EQ(request.priority, 3);
  EXPECT_EQ(request.clocks, "base!");
  EXPECT_EQ(request.cool_down_ms, 4);
  EXPECT_TRUE(request.exclusive);
}

}  // namespace
}  // namespace kprof
