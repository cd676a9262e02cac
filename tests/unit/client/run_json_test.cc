#include "client/cli/views/run_text.h"

#include <gtest/gtest.h>

#include "tests/unit/client/sample_run.h"

namespace kprof::cli {
namespace {

TEST(RunJson, IsTheObjectOfTheContract) {
  EXPECT_EQ(
      RunJsonLine(SampleRun()),
      R"({"schema":"kprof.run.v1","id":"01jd0000000000000000000000","state":"failed","tool":"command",)"
      R"("labels":{"model":"llama","zoo":"last"},"device":["cpu"],"command":["sh","-c","exit 3","\\xff"],"uid":1000,)"
      R"("queued_ns":"1795267369000000000","started_ns":"1795267370000000000","ended_ns":"1795267371500000000",)"
      R"("exit_code":3,"signal":null,)"
      R"("error":{"code":"command_failed","message":"the command exited with 3","remedy":null},)"
      R"("trust":[{"code":"processes_left","message":"2 processes outlived the command"}],"trace":null,)"
      R"("metrics":{"wall_ns":1500000000,"voluntary_switches":7},)"
      R"("artifacts":[{"name":"notes.txt","size_bytes":1536,"sha256":"ab12",)"
      R"("path":"out/notes.txt"}],"artifact_count":1,)"
      R"("cwd":"/home/someone","environment":{"CUDA_VISIBLE_DEVICES":"0"},)"
      R"("pinned":true,"shared":false,"attached":false,"timeout_ms":60000,"queue_timeout_ms":null,)"
      R"("session":null,"round":null,"priority":0,"clocks":"lock","cool_down_ms":90000,"exclusive":true,)"
      R"("verdict":null,"comparison":null,)"
      R"("stdout_bytes":2048,"stdout_dropped_bytes":1024,"stderr_bytes":10,"stderr_dropped_bytes":0})"
      "\n");
}

TEST(RunJson, SaysWhatIsInATrace) {
  v1::Run run;
  v1::TraceCounts& trace = *run.mutable_trace();
  trace.set_slices(1);
  trace.set_instants(2);
  trace.set_counters(3);
  trace.set_flows(4);
  trace.set_tracks(5);
  trace.set_bytes(6);
  trace.set_source_bytes(7);
  EXPECT_NE(RunJsonLine(run).find(
                R"("trace":{"slices":1,"instants":2,"counters":3,"flows":4,"tracks":5,"bytes":6,"source_bytes":7})"),
            std::string::npos);
}

TEST(RunJson, SaysTheVerdictOfAComparison) {
  v1::Run run;
  v1::RunVerdict& verdict = *run.mutable_verdict();
  verdict.set_name("INCONCLUSIVE");
  verdict.set_ratio(0.5);
  verdict.set_ci_low(0.25);
  verdict.add_reasons("noise_high");
  EXPECT_NE(RunJsonLine(run).find(R"("verdict":"INCONCLUSIVE","comparison":{"ratio":0.5,"ci_low":0.25,"ci_high":null,)"
                                  R"("reasons":["noise_high"]})"),
            std::string::npos);
}

TEST(RunJson, SaysNullForWhatIsNotKnownYet) {
  v1::Run run;
  run.set_id("01jd");
  run.set_state(v1::RUN_STATE_QUEUED);
  run.set_tool("command");
  run.set_queued_unix_ns(5);
  EXPECT_EQ(
      RunJsonLine(run),
      R"({"schema":"kprof.run.v1","id":"01jd","state":"queued","tool":"command","labels":{},"device":[],)"
      R"("command":[],"uid":0,"queued_ns":"5","started_ns":null,"ended_ns":null,"exit_code":null,)"
      R"("signal":null,"error":null,"trust":[],"trace":null,"metrics":{},"artifacts":[],"artifact_count":0,)"
      R"("cwd":"","environment":{},"pinned":false,"shared":false,"attached":false,"timeout_ms":null,)"
      R"("queue_timeout_ms":null,"session":null,"round":null,"priority":0,"clocks":null,"cool_down_ms":null,)"
      R"("exclusive":false,"verdict":null,"comparison":null,"stdout_bytes":0,"stdout_dropped_bytes":0,"stderr_bytes":0,)"
      R"("stderr_dropped_bytes":0})"
      "\n");
}

}  // namespace
}  // namespace kprof::cli
