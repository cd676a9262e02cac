#include "daemon/base/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "daemon/base/log.h"
#include "storage/base/clock.h"

namespace kprof {
namespace {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_ticks = 0;  // since boot
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

// /proc/self/stat: the name is in parentheses and may hold anything, so fields are counted from its end.
std::optional<ProcessFacts> ReadProcessFacts() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  double user_ticks = 0;
  double system_ticks = 0;
  double resident_pages = 0;
  ProcessFacts facts;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  fields >> user_ticks >> system_ticks;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  fields >> facts.start_ticks >> facts.virtual_bytes >> resident_pages;
  if (!fields) return std::nullopt;
  facts.cpu_seconds = (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  facts.resident_bytes = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return facts;
}

double CountOpenDescriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that counts
}

double MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

double ReadStartTimeSeconds(double start_ticks) {
  const double since_boot = start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  const double boot_seconds = SecondsOf(ReadClockNs(CLOCK_REALTIME)) - SecondsOf(ReadClockNs(CLOCK_BOOTTIME));
  return boot_seconds + since_boot;
}

}  // namespace

void AddProcessMetrics(Metrics& metrics, const std::string& version) {
  metrics.AddGauges("kprof_build_info", "Always 1; its label says what runs.", {"version"}).With({version}).Set(1);
  Counter& cpu = metrics.AddCounter("process_cpu_seconds_total", "User and system CPU time of the daemon in seconds.");
  Gauge& open_fds = metrics.AddGauge("process_open_fds", "Open file descriptors of the daemon.");
  Gauge& max_fds = metrics.AddGauge("process_max_fds", "How many file descriptors the daemon may have open.");
  Gauge& virtual_bytes = metrics.AddGauge("process_virtual_memory_bytes", "Virtual memory of the daemon in bytes.");
  Gauge& resident_bytes = metrics.AddGauge("process_resident_memory_bytes", "Resident memory of the daemon in bytes.");
  Gauge& start_time =
      metrics.AddGauge("process_start_time_seconds", "When the daemon was started, in seconds since the Unix epoch.");
  Counter& dropped_lines =
      metrics.AddCounter("kprof_log_lines_dropped_total", "Log lines that standard error did not take in time.");
  // Once: the system's clock may be set, the start stays where it was.
  if (std::optional<ProcessFacts> facts = ReadProcessFacts()) start_time.Set(ReadStartTimeSeconds(facts->start_ticks));
  metrics.BeforeText([&cpu, &open_fds, &max_fds, &virtual_bytes, &resident_bytes, &dropped_lines] {
    if (std::optional<ProcessFacts> facts = ReadProcessFacts()) {
      cpu.AdvanceTo(facts->cpu_seconds);
      virtual_bytes.Set(facts->virtual_bytes);
      resident_bytes.Set(facts->resident_bytes);
    }
    open_fds.Set(CountOpenDescriptors());
    max_fds.Set(MaxDescriptors());
    dropped_lines.AdvanceTo(static_cast<double>(LogLinesDropped()));
  });
}

}  // namespace kprof
