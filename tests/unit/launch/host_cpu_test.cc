#include "daemon/launch/host_cpu.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

constexpr const char* kStat =
    "cpu  9 9 9 9 9 9 9 9 9 9\n"
    "cpu0 1 2 4 1000 2000 8 16 32 5000 6000\n"
    "cpu1 100 0 0 7 0 0 0 0 0 0\n"
    "cpu7 0 0 0 7 0 0 0 0\n"
    "intr 5 6 7\n"
    "cpu8 1 1 1 1 1 1 1 1\n";

bool All(int) {
  return true;
}

TEST(HostCpu, AddsUpWhatIsBusyOfTheCpusThatCount) {
  EXPECT_EQ(ParseHostCpu(kStat, All, 100), (HostCpu{3, 1'630'000'000}));
  EXPECT_EQ(ParseHostCpu(
                kStat, [](int cpu) { return cpu == 0; }, 100),
            (HostCpu{1, 630'000'000}));
  EXPECT_EQ(ParseHostCpu(
                kStat, [](int cpu) { return cpu != 0; }, 1000),
            (HostCpu{2, 100'000'000}));
}

TEST(HostCpu, AHostMayHaveBeenUpForYears) {
  EXPECT_EQ(ParseHostCpu("cpu0 9000000000 0 0 5 0 0 0 0\ncpu1 1 0 0 99000000000 0 0 0 0\n", All, 100),
            (HostCpu{2, 90'000'000'010'000'000}));
  EXPECT_EQ(ParseHostCpu("cpu0 600000000000 600000000000 0 5 0 0 0 0\n", All, 100),
            std::nullopt);  // the sum is too large
}

TEST(HostCpu, SaysNothingWhereTheKernelDoesNot) {
  const std::string texts[] = {
      "",
      "intr 1\n",
      "cpu  1 1 1 1 1 1 1 1\n",
      "cpu0 0 0 0 0 0 0 0 0\n",  // as some sandboxes have it
      "cpu0 1 2 3\n",
      "cpux 1 2 3 4 5 6 7 8\n",
      "cpu0 1 2 -3 4 5 6 7 8\n",
      "cpu0 9223372036854775807 1 1 1 1 1 1 1\n",
      "cpu99999999999 1 1 1 1 1 1 1 1\n",
  };
  for (const std::string& text : texts) EXPECT_EQ(ParseHostCpu(text, All, 100), std::nullopt) << text;
  EXPECT_EQ(ParseHostCpu(
                kStat, [](int) { return false; }, 100),
            std::nullopt);
  EXPECT_EQ(ParseHostCpu(kStat, All, 0), std::nullopt);
}

TEST(HostCpu, TakesNoLineThatIsCutForAnother) {
  const std::string text = kStat;
  for (size_t size = 0; size < text.size(); ++size) (void)ParseHostCpu(text.substr(0, size), All, 100);
}

TEST(HostCpu, CountsAsOthersWhatIsNotOnesOwn) {
  EXPECT_EQ(OthersCpuNs({2, 1000}, {2, 1700}, 300), 400);
  EXPECT_EQ(OthersCpuNs({2, 1000}, {2, 1200}, 300), 0);  // ticks are coarse
  EXPECT_EQ(OthersCpuNs({2, 1000}, {1, 1700}, 300), std::nullopt);
  EXPECT_EQ(OthersCpuNs({2, 1000}, {2, 900}, 300), std::nullopt);
}

TEST(HostCpu, ReadsThisHost) {
  std::optional<HostCpu> host = ReadHostCpu();
  if (!host) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_GT(host->cpus, 0);
  EXPECT_GT(host->busy_ns, 0);
}

}  // namespace
}  // namespace kprof
