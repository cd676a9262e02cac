#include "daemon/runs/command/run_end.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Case {
  const char* what;
  int64_t cpus;
  int64_t wall_ns;
  int64_t others_ns;
  const char* said;
};

TEST(HostBusy, IsSaidWithNumbersWhenOthersUsedMuch) {
  const Case cases[] = {
      {"nothing is known", 0, 0, 0, ""},
      {"a quiet host", 2, 10'000 * kMs, 0, ""},
      {"a quarter of a CPU", 2, 10'000 * kMs, 2'500 * kMs, ""},
      {"more than a quarter", 2, 10'000 * kMs, 2'600 * kMs, "0.26 of 2"},
      {"much", 2, 10'000 * kMs, 14'000 * kMs, "1.40 of 2"},
      {"coarse ticks", 2, 10'000 * kMs, 20'010 * kMs, "2.00 of 2"},
      {"one CPU of many", 64, 10'000 * kMs, 10'000 * kMs, ""},
      {"more than 5 % of many", 64, 10'000 * kMs, 33'000 * kMs, "3.30 of 64"},
      {"a short run, within the ticks", 2, 150 * kMs, 70 * kMs, ""},
      {"a short run, beyond them", 2, 150 * kMs, 75 * kMs, "0.50 of 2"},
  };
  for (const Case& c : cases) {
    CommandEnded command;
    command.host_cpus = c.cpus;
    command.host_wall_ns = c.wall_ns;
    command.others_cpu_ns = c.others_ns;
    std::optional<TrustReason> reason = HostBusy(command);
    ASSERT_EQ(reason.has_value(), c.said[0] != '\0') << c.what;
    if (!reason) continue;
    EXPECT_EQ(reason->code, "host_busy");
    EXPECT_EQ(reason->message, "others used " + std::string(c.said) +
                                   " CPUs while it ran; times of the host may be longer than on a quiet one");
  }
}

}  // namespace
}  // namespace kprof
