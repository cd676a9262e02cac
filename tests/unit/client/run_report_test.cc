#include "client/cli/views/run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/client/sample_run.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RunReport, ShortOneSaysHowItEndedAndWhatNext) {
  EXPECT_EQ(ShortReport(SampleRun()),
            "run         01jd0000000000000000000000\n"
            "state       failed, exit 3\n"
            "error       command_failed\n"
            "took        1.500 s on cpu\n"
            "measured    wall                1.500 s\n"
            "            voluntary_switches  7\n"
            "output      stdout 2.0 KiB (1.0 KiB in the middle not kept), stderr 10 B\n"
            "artifact    notes.txt (1.5 KiB)\n"
            "trust       processes_left: 2 processes outlived the command\n"
            "next        kprofctl show 01jd0000000000000000000000\n"
            "            kprofctl logs 01jd0000000000000000000000\n"
            "            kprofctl logs 01jd0000000000000000000000 --stderr\n");
}

TEST(RunReport, ShortOneNamesTheReportWhereThereIsOne) {
  v1::Run run = SampleRun();
  run.set_state(v1::RUN_STATE_DONE);
  EXPECT_THAT(ShortReport(run), Not(HasSubstr("kprofctl report")));
  run.mutable_trace()->set_tracks(1);
  EXPECT_THAT(ShortReport(run), Not(HasSubstr("kprofctl report")));
  run.mutable_trace()->set_slices(7);
  EXPECT_THAT(ShortReport(run), HasSubstr("next        kprofctl report 01jd0000000000000000000000\n"));
  run.mutable_trace()->set_slices(0);
  run.add_metrics()->set_name("kernel_metric_rows");
  EXPECT_THAT(ShortReport(run), HasSubstr("next        kprofctl report 01jd0000000000000000000000\n"));
  run.set_state(v1::RUN_STATE_FAILED);
  EXPECT_THAT(ShortReport(run), Not(HasSubstr("kprofctl report")));
}

TEST(RunReport, FullOneHasEverything) {
  std::string report = FullReport(SampleRun(), {}, 0);
  for (const char* part : {"command     sh -c 'exit 3' ", "cwd         /home/someone", "label       model=llama",
                           "            zoo=last", "kept        pinned, private, detached", "timeout     1m 00s",
                           "env         CUDA_VISIBLE_DEVICES=0", "took        1.500 s"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
}

TEST(RunReport, ColoursSayWhatTheWordsSay) {
  v1::Run run = SampleRun();
  const std::string report = ShortReport(run, true);
  EXPECT_THAT(report, HasSubstr("state       \x1b[1;31mfailed\x1b[0m, exit 3\n"));
  EXPECT_THAT(report, HasSubstr("error       \x1b[1;31mcommand_failed\x1b[0m\n"));
  EXPECT_THAT(report, HasSubstr("trust       \x1b[33mprocesses_left\x1b[0m: 2 processes"));
  run.set_state(v1::RUN_STATE_CANCELLED);
  EXPECT_THAT(OneLineReport(run, 0, true), HasSubstr(" \x1b[33mcancelled\x1b[0m after"));
  run.set_state(v1::RUN_STATE_DONE);
  EXPECT_THAT(OneLineReport(run, 0, true), Not(HasSubstr("\x1b")));
}

TEST(RunReport, AShortOneHasAFewMetricsOfMany) {
  v1::Run run = SampleRun();
  for (int i = 0; i < 40; ++i) run.add_metrics()->set_name("device_0_" + std::to_string(i));
  const std::string report = ShortReport(run);
  EXPECT_THAT(report, HasSubstr("            and 31 more\n"));
  EXPECT_THAT(report, Not(HasSubstr("device_0_39")));
  EXPECT_THAT(FullReport(run, {}, 0), HasSubstr("device_0_39"));
}

TEST(RunReport, LetsNothingFromOutsideReachTheTerminal) {
  v1::Run run = SampleRun();
  run.add_argv("\x1b[2J");
  run.set_cwd("/\x1b[2J");
  (*run.mutable_labels())["\x1b[2J"] = "\x1b[2J";
  run.mutable_error()->set_message("\x1b[2J");
  run.mutable_trust(0)->set_message("\x1b[2J");
  run.mutable_artifacts(0)->set_name("\x1b[2J");
  run.mutable_environment(0)->set_value("\x1b[2J");
  run.mutable_metrics(0)->set_name("\x1b[2J");
  run.add_devices("\x1b[2J");
  EXPECT_THAT(FullReport(run, {}, 0), Not(HasSubstr("\x1b")));
  EXPECT_THAT(ShortReport(run), Not(HasSubstr("\x1b")));
}

TEST(RunReport, SaysWhatWasMeasuredWhereTheClockWasSetMeanwhile) {
  v1::Run run = SampleRun();
  run.set_ended_unix_ns(run.started_unix_ns() - 400LL * 24 * 3600 * 1'000'000'000);
  EXPECT_THAT(ShortReport(run), HasSubstr("took        1.500 s on cpu"));
  EXPECT_THAT(FullReport(run, {}, 0), HasSubstr("took        1.500 s"));
  EXPECT_THAT(OneLineReport(run, 0), HasSubstr("after 1.500 s"));
}

TEST(RunReport, OneLineNamesStateAndExit) {
  EXPECT_EQ(OneLineReport(SampleRun(), 0), "run 01jd0000000000000000000000 failed after 1.500 s (exit 3)");
}

}  // namespace
}  // namespace kprof::cli
