// A run in which every field says something, for the tests that print runs.
#pragma once

#include "kprof/v1/run.pb.h"

namespace kprof::cli {

inline v1::Run SampleRun() {
  v1::Run run;
  run.set_id("01jd0000000000000000000000");
  run.set_state(v1::RUN_STATE_FAILED);
  run.set_uid(1000);
  run.set_tool("command");
  for (const char* word : {"sh", "-c", "exit 3", "\xff"}) run.add_argv(word);
  run.set_cwd("/home/someone");
  v1::EnvironmentVariable& variable = *run.add_environment();
  variable.set_name("CUDA_VISIBLE_DEVICES");
  variable.set_value("0");
  (*run.mutable_labels())["zoo"] = "last";
  (*run.mutable_labels())["model"] = "llama";
  run.add_devices("cpu");
  run.set_pinned(true);
  run.set_queued_unix_ns(1'795'267'369'000'000'000);
  run.set_started_unix_ns(1'795'267'370'000'000'000);
  run.set_ended_unix_ns(1'795'267'371'500'000'000);
  run.set_exit_code(3);
  run.mutable_error()->set_code("command_failed");
  run.mutable_error()->set_message("the command exited with 3");
  v1::TrustReason& trust = *run.add_trust();
  trust.set_code("processes_left");
  trust.set_message("2 processes outlived the command");
  v1::Metric& wall = *run.add_metrics();
  wall.set_name("wall_ns");
  wall.set_value(1'500'000'000);
  wall.set_unit("ns");
  v1::Metric& switches = *run.add_metrics();
  switches.set_name("voluntary_switches");
  switches.set_value(7);
  switches.set_unit("count");
  v1::Metric& kernel = *run.add_metrics();
  kernel.set_name("duration_ns");
  kernel.set_value(5);
  kernel.set_unit("ns");
  kernel.set_kernel("gemm");
  v1::Artifact& artifact = *run.add_artifacts();
  artifact.set_name("notes.txt");
  artifact.set_size_bytes(1536);
  artifact.set_sha256("ab12");
  artifact.set_path("out/notes.txt");
  run.set_stdout_bytes(2048);
  run.set_stdout_dropped_bytes(1024);
  run.set_stderr_bytes(10);
  run.set_timeout_ms(60'000);
  run.set_clocks("lock");
  run.set_cool_down_ms(90'000);
  run.set_exclusive(true);
  return run;
}

}  // namespace kprof::cli
