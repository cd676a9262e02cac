#include "daemon/runs/command/run_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

#include "storage/base/clock.h"

namespace kprof {
namespace {

constexpr int64_t kElapsedNs = 3 * kNanosPerSecond;

TEST(ClampReportedEnd, LeavesWhatIsPossible) {
  CommandEnded said;
  said.exit_code = 3;
  said.wall_ns = kElapsedNs - 1;
  said.user_cpu_ns = kElapsedNs / 2;
  said.system_cpu_ns = 7;
  said.max_rss_bytes = 4096;
  said.voluntary_switches = 5;
  said.leftover_processes = 2;
  said.host_cpus = 1;
  said.host_wall_ns = kElapsedNs;
  said.others_cpu_ns = 8;
  EXPECT_EQ(ClampReportedEnd(said, kElapsedNs), said);
}

TEST(ClampReportedEnd, BoundsWhatIsNot) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CommandEnded said;
  said.exit_code = 1 << 20;
  said.signal = 9;
  for (int64_t* value : {&said.wall_ns, &said.user_cpu_ns, &said.system_cpu_ns, &said.max_rss_bytes,
                         &said.voluntary_switches, &said.involuntary_switches, &said.leftover_processes,
                         &said.unkillable_processes, &said.host_cpus, &said.host_wall_ns, &said.others_cpu_ns}) {
    *value = kMost;
  }
  const CommandEnded believed = ClampReportedEnd(said, kElapsedNs);
  const int64_t cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  EXPECT_EQ(believed.exit_code, 255);
  EXPECT_FALSE(believed.signal);
  EXPECT_EQ(believed.wall_ns, kElapsedNs);
  EXPECT_EQ(believed.user_cpu_ns + believed.system_cpu_ns, kElapsedNs * cpus);
  EXPECT_LT(believed.max_rss_bytes, int64_t{1} << 50);
  EXPECT_EQ(believed.host_cpus, cpus);
  EXPECT_EQ(believed.host_wall_ns, kElapsedNs);
  EXPECT_EQ(believed.others_cpu_ns, kElapsedNs * cpus);
  EXPECT_LT(believed.leftover_processes, 10'000'000);
}

TEST(ClampReportedEnd, BoundsWhatAToolSays) {
  CommandEnded said;
  said.tries = int64_t{1} << 60;
  said.tool_notes.assign(1000, "retried: x");
  const CommandEnded believed = ClampReportedEnd(said, kElapsedNs);
  EXPECT_LE(believed.tries, 1000);
  EXPECT_EQ(believed.tool_notes.size(), kMostToolNotes);
}

// What a tool says of its run becomes trust and error; its own words for them are no codes of ours.
TEST(ToolsWords, BecomeTrust) {
  CommandEnded said;
  said.exit_code = 0;
  said.tries = 2;
  said.tool_notes = {"retried: try 1: x", "No Code: y", "nothing", ": z", std::string(100, 'a') + ": w"};
  RunRow row;
  SetCommandEnded(row, said);
  ASSERT_EQ(row.trust.size(), 1U);
  EXPECT_EQ(row.trust[0].code, "retried");
  EXPECT_EQ(row.trust[0].message, "try 1: x");
  EXPECT_EQ(row.metrics.back().name, "tries");
}

TEST(ToolsWords, ComeBeforeTheExitCode) {
  RunRow row;
  row.id = "r1";
  CommandEnded said;
  said.exit_code = 9;
  said.tool_error = "tool_failed";
  said.tool_error_why = "ncu cannot take its lock";
  said.tool_error_remedy = "set TMPDIR";
  const std::optional<Status> why = WhyCommandFailed(said, row);
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->code(), ErrorCode::kToolFailed);
  EXPECT_EQ(why->remedy(), "set TMPDIR");
  said.exit_code = 0;
  said.tool_error = "no_kernels";
  EXPECT_EQ(WhyCommandFailed(said, row)->code(), ErrorCode::kNoKernels);
  said.tool_error = "storage_broken";  // not a tool's to say
  EXPECT_EQ(WhyCommandFailed(said, row)->code(), ErrorCode::kToolFailed);
}

TEST(ClampReportedEnd, KnowsNoNegativeNumbers) {
  CommandEnded said;
  said.exit_code = -1;
  said.wall_ns = said.user_cpu_ns = said.max_rss_bytes = said.voluntary_switches = said.leftover_processes = -5;
  const CommandEnded believed = ClampReportedEnd(said, kElapsedNs);
  EXPECT_EQ(believed.exit_code, 0);
  EXPECT_EQ(believed.wall_ns, 0);
  EXPECT_EQ(believed.user_cpu_ns, 0);
  EXPECT_EQ(believed.max_rss_bytes, 0);
  EXPECT_EQ(believed.voluntary_switches, 0);
  EXPECT_EQ(believed.leftover_processes, 0);
  said.exit_code.reset();
  said.signal = 4711;
  EXPECT_LT(*ClampReportedEnd(said, kElapsedNs).signal, 100);
}

}  // namespace
}  // namespace kprof
