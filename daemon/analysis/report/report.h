// A run's report: what was measured under which configuration, what bounds it, what to try next, and what changed since
// a baseline. It is made of the answers of analyses, and becomes files of several forms (report_files.h). Values.
//
// One thread, that of the parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// A part of the work with a line of its own: a stage that the caller named, else a kernel. Nothing: not measured.
struct ReportStage {
  std::string name;
  bool is_named = false;  // by the caller: it is made of kernels that have lines of their own, too
  int64_t launches = 0;
  std::optional<double> duration_ns;  // of one launch, the mean
  std::optional<double> total_ns;
  std::optional<double> tensor_percent;
  std::optional<double> dram_percent;
  std::optional<double> occupancy_percent;
  std::optional<double> compute_sol_percent;
  std::optional<double> memory_sol_percent;
  std::string bottleneck;    // memory, compute, underutilized, balanced, unknown; of a trace: busy
  std::string memory_level;  // the busiest memory: dram, l2, l1; empty: not known
  std::string issue;         // the finding that costs it most; empty: none
  // Its place under the device's roof.
  std::optional<double> flop_per_byte;
  std::optional<double> tflop_per_s;
  std::optional<double> attainable_tflop_per_s;
  std::optional<double> attainable_percent;  // the least time at the peaks, of its time
  std::optional<double> gb_per_s;
};

struct ReportOpportunity {
  std::string name;
  std::optional<double> gain_percent;  // of the time of all that was measured
  std::string trigger;                 // metric=value
  std::string message;
  std::string hint;
  std::string source;
  std::string kernel;  // empty: it is about no single one
};

// A metric of the run beside that of its baseline.
struct ReportChange {
  std::string metric;
  std::string unit;
  std::optional<double> previous;
  std::optional<double> current;
};

// A rule that could not be asked: the report lacks its metrics.
struct ReportUnasked {
  std::string rule;
  std::string missing;  // a list in JSON
};

// The peak rate of one type of number.
struct ReportRate {
  std::string dtype;
  double tflop_per_s = 0;
};

// The device's roof: its peaks, as the answer about rooflines took them.
struct ReportRoof {
  std::optional<double> tflop_per_s;  // the highest of the rates
  std::optional<double> gb_per_s;
  std::string text;               // with who says so
  std::vector<ReportRate> rates;  // of the types that stages compute with
  // The ceilings that runs have reached there, beside the peaks.
  std::optional<double> measured_tflop_per_s;
  std::optional<double> measured_gb_per_s;
  std::string measured_dtype;       // of the rate
  std::string measured_confidence;  // empty: nothing is recorded
  std::string measured_text;        // who says so
};

// The time of one device in a trace. Percentages are of total_ns.
struct ReportDeviceTime {
  std::optional<int64_t> rank;
  std::optional<int64_t> device;
  double total_ns = 0;
  double compute_ns = 0;
  double communication_ns = 0;
  double hidden_communication_ns = 0;  // compute ran beside it
  double copies_ns = 0;
  double hidden_copies_ns = 0;  // the same
  double idle_ns = 0;
  std::optional<double> host_wait_ns;  // of idle_ns; nothing: no launches are recorded
  std::optional<double> kernel_wait_ns;
};

// How work came to the devices of a rank.
struct ReportLaunches {
  std::optional<int64_t> rank;
  int64_t launches = 0;
  int64_t short_launches = 0;    // their work took less time than their calls
  int64_t delayed_launches = 0;  // their work began more than 100 us after their calls
  double call_ns = 0;            // of all
  double delay_ns = 0;           // of all
};

// A long time in which a device did nothing.
struct ReportGap {
  std::optional<int64_t> rank;
  std::optional<int64_t> device;
  double begin_ns = 0;  // from the trace's base
  double length_ns = 0;
  std::string cause;   // host_wait, kernel_wait, other
  std::string host;    // what the launching thread did: "sync: cudaDeviceSynchronize"; empty: not recorded
  std::string before;  // the kernels on both sides; empty: none
  std::string after;
};

struct Report {
  std::string run_id;
  std::string tool;
  std::string kernel;   // as the caller named it, else the kernel that takes most time
  std::string version;  // empty: the caller named none
  std::string device;   // its name; empty: not known
  std::string clocks;   // "locked clocks"; empty: they were not
  int64_t started_unix_ns = 0;
  std::vector<std::pair<std::string, std::string>> configuration;  // of params.json: b, s, t, dtype first
  std::vector<ReportStage> stages;                                 // those with a name, then kernels; the longest first
  std::optional<double> measured_ns;             // of all kernels' launches: named stages and kernels overlap
  std::optional<double> round_ns;                // a launch of each kernel; of a trace: nothing
  std::optional<double> execution_ns;            // of a Neuron device profile: engines, the stages, work side by side
  std::string bottleneck;                        // Memory, Compute, Latency, Balanced, Unknown
  std::string root_cause;                        // two sentences at most
  std::vector<ReportOpportunity> opportunities;  // the largest gain first
  std::vector<ReportUnasked> unasked;
  std::string policy;  // that judged, with its version and parameters; empty: none did
  ReportRoof roof;
  std::string baseline_id;  // empty: there is none
  std::vector<ReportChange> changes;
  std::vector<std::pair<std::string, std::optional<double>>>
      timeline;                           // of a trace: percent of the time, by what it did
  std::vector<ReportDeviceTime> devices;  // of a trace, here and below; by rank and device
  std::vector<ReportLaunches> launches;   // by rank
  std::vector<ReportGap> gaps;            // the longest first
  std::vector<TrustReason> trust;
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  // analyses for which the trace is too long; notes say so
};

bool IsLeftOut(const Report& report, std::string_view analysis);

// Where the run stands in a tree of profiles: "ncu/mla/b=32_s=16/20261128-101500", in UTC. Each step is one name of
// letters, digits and . _ - + = @ , and says what it is where nobody named it: "no-params".
std::string ProfileFolder(const Report& report);

// Makes the report of a run. Fails as the analyses do. A run whose trace has no launches and no slices has a report
// without stages, and a note.
Result<Report> MakeReport(const ReportedRun& of, const ReportedRun* baseline, const StopSignal& stop);

}  // namespace kprof
