// Reads the results of a report of Nsight Compute: a message for each launch, or range of launches.
//
// Fields of a result: 1 process, 5 mangled name, 6 function, 7 demangled name, 10 grid and 11 block (x, y, z), 12
// instructions (until 2024), 13 metrics, 14 Unix seconds, 15 its source {1 number}, 17 sections, 19 rules, 21 NVTX
// state, 22 context, 23 stream. Of a range the same, as far as it has them.
//
// One thread. Memory: the names of metrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/ncu/kernel_sources.h"
#include "daemon/ingest/ncu/report_rows.h"
#include "storage/base/status.h"

namespace kprof {

class LaunchResults {
 public:
  // Both are borrowed.
  LaunchResults(ReportRows& rows, KernelSources& sources) : rows_(rows), sources_(sources) {}

  // Names of metrics, which results name by their numbers through all of the report. False: there is no room.
  bool AddNames(std::string_view string_table, int64_t most_bytes);
  // A process {1 pid, 3 path of its executable}.
  void AddProcess(std::string_view message);
  // A device of the session, for launches that do not say theirs in full.
  void AddDevice(int64_t ordinal, std::string name);

  // Fails as the sink does. A message that is no result is counted.
  Status Read(std::string_view message, bool is_range);

  // Says in sentences for people what could not be read.
  void WarnOf(BatchSink& sink) const;

 private:
  struct Result;
  struct MetricName {
    std::string name;
    std::optional<uint32_t> text;  // its number and that of its unit, once they are known
    uint32_t unit = 0;
  };
  MetricName* NameOf(uint64_t id);
  void Collect(std::string_view message, Result& result);
  int64_t AddLaunch(const Result& result, bool is_range);
  Status AddMetrics(int64_t launch, const Result& result);
  void AddSection(int64_t launch, std::string_view message);
  void AddRule(int64_t launch, std::string_view message);
  Status AddInstructions(int64_t launch, const Result& result);

  ReportRows& rows_;
  KernelSources& sources_;
  std::vector<MetricName> names_;
  int64_t names_bytes_ = 0;
  std::map<int64_t, std::string> processes_;
  std::map<int64_t, std::string> devices_;
  int64_t unnamed_ = 0;  // metrics
  int64_t broken_ = 0;   // results
  int64_t unknown_ranges_ = 0;
};

}  // namespace kprof
