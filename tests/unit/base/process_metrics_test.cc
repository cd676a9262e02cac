#include "daemon/base/metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

class ProcessMetrics : public testing::Test {
 protected:
  ProcessMetrics() { AddProcessMetrics(metrics_, "1.2.3"); }

  double Read(const std::string& name) {
    const std::string text = metrics_.Text();
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, text.npos) << name << " in " << text;
    return at == text.npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }

  Metrics metrics_;
};

TEST_F(ProcessMetrics, SayTheVersion) {
  EXPECT_THAT(metrics_.Text(), testing::HasSubstr("kprof_build_info{version=\"1.2.3\"} 1\n"));
}

TEST_F(ProcessMetrics, CountOpenDescriptors) {
  const double before = Read("process_open_fds");
  EXPECT_GE(before, 3);
  EXPECT_LT(before, Read("process_max_fds"));
  std::vector<UniqueFd> more;
  for (int i = 0; i < 5; ++i) more.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Read("process_open_fds"), before + 5);
}

TEST_F(ProcessMetrics, SeeMemoryAndTime) {
  const double resident = Read("process_resident_memory_bytes");
  EXPECT_GT(resident, 1 << 20);
  EXPECT_GE(Read("process_virtual_memory_bytes"), resident);
  const double started = Read("process_start_time_seconds");
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_LE(started, now + 1);
  EXPECT_GT(started, now - 24 * 3600);
}

TEST_F(ProcessMetrics, CpuTimeGoesUpWithWork) {
  const double before = Read("process_cpu_seconds_total");
  volatile double sink = 0;
  while (Read("process_cpu_seconds_total") <= before) {
    for (int i = 0; i < 1'000'000; ++i) sink = sink + i;
  }
  EXPECT_GT(Read("process_cpu_seconds_total"), before);
}

}  // namespace
}  // namespace kprof
