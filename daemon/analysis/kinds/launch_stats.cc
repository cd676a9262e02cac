// How work comes to the devices: calls that launch it, and its delay. Docs: docs/analyses/launch-stats.md.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/part_notes.h"

namespace kprof {
namespace {

enum LaunchTable : size_t { kLaunchRanks, kLaunchCalls, kLaunches };

// HolisticTraceAnalysis looks at these calls alone.
constexpr std::string_view kHtaCalls[] = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync",
                                          "cudaMemsetAsync"};

constexpr AnalysisOption kLaunchOptions[] = {
    {"long-call", AnalysisType::kInteger, "50000", "ns", "A call that takes longer is an outlier", "", 0},
    {"long-delay", AnalysisType::kInteger, "100000", "ns", "A delay that is longer is an outlier", "", 0},
    {"top", AnalysisType::kInteger, "10", "", "So many single launches of each rank", "", 0},
    {"order", AnalysisType::kText, "delay", "",
     "Which single launches: those with the longest delays, or the first by correlation", "delay|correlation"},
};

// A call, and what it launched; under window=hta a call and one of the slices that it launched.
struct Launch {
  int64_t call = 0;  // of the part's
  int64_t first_begin_ns = 0;
  int64_t kernels = 0;
  int64_t device_ns = 0;
  int64_t kernel_name = 0;
  int64_t call_ns = 0;
  int64_t delay_ns = 0;  // from the call's end to the first begin, at least 0
};

struct LaunchSums {
  int64_t launches = 0;
  int64_t kernels = 0;
  int64_t call_ns = 0;
  int64_t device_ns = 0;
  int64_t delay_ns = 0;
  int64_t most_delay_ns = 0;
  int64_t most_call_ns = 0;
  int64_t short_kernels = 0;
  int64_t long_calls = 0;
  int64_t long_delays = 0;

  void Add(const Launch& launch, const AnalysisOptions& options) {
    ++launches;
    kernels += launch.kernels;
    call_ns = AddLength(call_ns, launch.call_ns);
    device_ns = AddLength(device_ns, launch.device_ns);
    delay_ns = AddLength(delay_ns, launch.delay_ns);
    most_delay_ns = std::max(most_delay_ns, launch.delay_ns);
    most_call_ns = std::max(most_call_ns, launch.call_ns);
    const bool is_long = launch.call_ns > options.integer("long-call").value_or(0);
    short_kernels += !is_long && launch.device_ns < launch.call_ns ? 1 : 0;
    long_calls += is_long ? 1 : 0;
    long_delays += launch.delay_ns > options.integer("long-delay").value_or(0) ? 1 : 0;
  }
};

// The end of a delay is where the first slice begins.
void Finish(const PartSlice& call, Launch& launch) {
  launch.call_ns = call.end_ns - call.begin_ns;
  launch.delay_ns = std::max<int64_t>(launch.first_begin_ns - call.end_ns, 0);
}

std::vector<Launch> FindExactLaunches(const DeviceLaunches& read) {
  std::vector<Launch> of_calls(read.calls().size());
  for (const DeviceSlice& slice : read.slices()) {
    if (slice.call == DeviceSlice::kNoCall) continue;
    Launch& launch = of_calls[static_cast<size_t>(slice.call)];
    if (launch.kernels == 0 || slice.begin_ns < launch.first_begin_ns) {
      launch.first_begin_ns = slice.begin_ns;
      launch.kernel_name = slice.name;
    }
    launch.call = slice.call;
    ++launch.kernels;
    launch.device_ns = AddLength(launch.device_ns, slice.length_ns());
  }
  std::erase_if(of_calls, [](const Launch& launch) { return launch.kernels == 0; });
  for (Launch& launch : of_calls) Finish(read.calls()[static_cast<size_t>(launch.call)], launch);
  return of_calls;
}

Result<std::vector<Launch>> FindHtaLaunches(const DeviceLaunches& read, PartReader& reader) {
  std::map<int64_t, bool> is_taken;  // by the call's name
  std::vector<Launch> launches;
  for (const DeviceSlice& slice : read.slices()) {
    for (const PartSlice& call : read.CallsFrom(slice.call)) {
      const auto [known, is_new] = is_taken.try_emplace(call.name, false);
      if (is_new) {
        ASSIGN_OR_RETURN(const std::string name, reader.ReadString(call.name));
        known->second = std::find(std::begin(kHtaCalls), std::end(kHtaCalls), name) != std::end(kHtaCalls);
      }
      if (!known->second) continue;
      Launch launch{.call = &call - read.calls().data(),
                    .first_begin_ns = slice.begin_ns,
                    .kernels = 1,
                    .device_ns = slice.length_ns(),
                    .kernel_name = slice.name};
      Finish(call, launch);
      launches.push_back(launch);
    }
  }
  return launches;
}

AnalysisValue MeanOf(int64_t sum, int64_t count) {
  return count == 0 ? AnalysisValue() : AnalysisValue(static_cast<double>(sum) / static_cast<double>(count));
}

Status AddSingleLaunches(const AnalysisTraces& traces, size_t part, const AnalysisOptions& options,
                         const DeviceLaunches& read, std::vector<Launch>& launches, AnalysisAnswer& answer) {
  const auto most = std::min(launches.size(), static_cast<size_t>(options.integer("top").value_or(0)));
  const bool by_delay = options.text("order") == "delay";
  std::partial_sort(launches.begin(), launches.begin() + static_cast<ptrdiff_t>(most), launches.end(),
                    [&](const Launch& a, const Launch& b) {
                      const int64_t a_first = by_delay ? -a.delay_ns : 0;
                      const int64_t b_first = by_delay ? -b.delay_ns : 0;
                      return std::tie(a_first, a.call, a.first_begin_ns) < std::tie(b_first, b.call, b.first_begin_ns);
                    });
  PartReader& reader = *traces.parts()[part].reader;
  for (size_t i = 0; i < most; ++i) {
    const Launch& launch = launches[i];
    const PartSlice& call = read.calls()[static_cast<size_t>(launch.call)];
    ASSIGN_OR_RETURN(std::string call_name, reader.ReadString(call.name));
    ASSIGN_OR_RETURN(std::string kernel_name, reader.ReadString(launch.kernel_name));
    RETURN_IF_ERROR(answer.AddRow(kLaunches, {traces.run(part), ValueOf(traces.parts()[part].rank), launch.delay_ns,
                                              launch.call_ns, launch.device_ns, launch.kernels, call.begin_ns,
                                              std::move(call_name), std::move(kernel_name), call.correlation}));
  }
  return OkStatus();
}

Status AddLaunchesOf(const AnalysisTraces& traces, size_t part, const AnalysisOptions& options,
                     const DeviceLaunches& read, std::vector<Launch>& launches, AnalysisAnswer& answer) {
  LaunchSums all;
  std::map<int64_t, LaunchSums> of_names;
  for (const Launch& launch : launches) {
    all.Add(launch, options);
    of_names[read.calls()[static_cast<size_t>(launch.call)].name].Add(launch, options);
  }
  int64_t without = 0;
  for (const DeviceSlice& slice : read.slices()) without += slice.call == DeviceSlice::kNoCall ? 1 : 0;
  const AnalysisValue rank = ValueOf(traces.parts()[part].rank);
  RETURN_IF_ERROR(
      answer.AddRow(kLaunchRanks, {traces.run(part), rank, all.launches, all.call_ns, all.device_ns, all.delay_ns,
                                   all.short_kernels, all.long_calls, all.long_delays, all.kernels, without}));
  std::vector<std::pair<int64_t, LaunchSums>> names(of_names.begin(), of_names.end());
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.call_ns, a.first) < std::tie(a.second.call_ns, b.first);
  });
  for (const auto& [number, sums] : names) {
    ASSIGN_OR_RETURN(std::string name, traces.parts()[part].reader->ReadString(number));
    RETURN_IF_ERROR(
        answer.AddRow(kLaunchCalls, {traces.run(part), rank, std::move(name), sums.launches, sums.kernels, sums.call_ns,
                                     MeanOf(sums.call_ns, sums.launches), MeanOf(sums.delay_ns, sums.launches),
                                     sums.most_delay_ns, sums.most_call_ns, sums.device_ns, sums.short_kernels}));
  }
  return AddSingleLaunches(traces, part, options, read, launches, answer);
}

Result<AnalysisAnswer> AnswerLaunchStats(const AnalysisTraces& traces, const AnalysisOptions& options,
                                         const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    ASSIGN_OR_RETURN(const DeviceLaunches read, DeviceLaunches::Read(traces, part, scope, stop));
    if (read.slices().empty()) {
      notes.AddLack(part, "no kernels", "nothing ran on a device");
      continue;
    }
    std::vector<Launch> launches;
    if (scope.is_hta()) {
      ASSIGN_OR_RETURN(launches, FindHtaLaunches(read, *traces.parts()[part].reader));
    } else {
      launches = FindExactLaunches(read);
    }
    if (launches.empty()) {
      notes.AddLack(part, "no launches",
                    scope.is_hta() ? "HTA counts four calls of the CUDA runtime, none of HIP, and none of them is"
                                   : "no call of the host has the correlation of a kernel");
      if (!scope.is_hta()) continue;
    }
    RETURN_IF_ERROR(AddLaunchesOf(traces, part, options, read, launches, answer));
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind LaunchStats() {
  using enum AnalysisType;
  return {
      .name = "launch-stats",
      .version = 1,
      .question = "How long do launches take, how long does work wait for its device, and which kernels are too short?",
      .options = {kTraceScope, kWindow, kLaunchOptions},
      .tables = {{"ranks",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"launches", kInteger, "",
                    "Calls that launched work; under window=hta pairs of a call and a kernel"},
                   {"cpu_duration_ns", kInteger, "ns", "How long those calls took, added up"},
                   {"gpu_duration_ns", kInteger, "ns", "How long the work took that they launched, added up"},
                   {"launch_delay_ns", kInteger, "ns", "From the end of a call to the begin of its work, added up"},
                   {"short_kernels", kInteger, "", "Launches whose work took less time than the call"},
                   {"runtime_outliers", kInteger, "", "Calls longer than option long-call"},
                   {"delay_outliers", kInteger, "", "Delays longer than option long-delay"},
                   {"kernels", kInteger, "", "Kernels, copies and fills that were launched; a graph has many"},
                   {"without_launch", kInteger, "", "Kernels, copies and fills whose launch is not in the trace"}}},
                 {"calls",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"name", kText, "", "The call: hipGraphLaunch"},
                   {"launches", kInteger, "", "How often it launched work"},
                   {"kernels", kInteger, "", "Kernels, copies and fills that it launched"},
                   {"cpu_duration_ns", kInteger, "ns", "How long the calls took, added up"},
                   {"mean_cpu_ns", kReal, "ns", "On average"},
                   {"mean_delay_ns", kReal, "ns", "From the end of a call to the begin of its work, on average"},
                   {"max_delay_ns", kInteger, "ns", "The longest delay"},
                   {"max_cpu_ns", kInteger, "ns", "The longest call"},
                   {"gpu_duration_ns", kInteger, "ns", "How long the work took, added up"},
                   {"short_kernels", kInteger, "", "Launches whose work took less time than the call"}}},
                 {"launches",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"launch_delay_ns", kInteger, "ns", "From the end of the call to the begin of its work"},
                   {"cpu_duration_ns", kInteger, "ns", "How long the call took"},
                   {"gpu_duration_ns", kInteger, "ns", "How long its work took, added up"},
                   {"kernels", kInteger, "", "Kernels, copies and fills that it launched"},
                   {"begin_ns", kInteger, "ns", "Of the call, from the trace's base"},
                   {"name", kText, "", "The call"},
                   {"kernel", kText, "", "What it launched; the first of many"},
                   {"correlation", kInteger, "", "The number that both have in the trace"}}}},
      .answer = &AnswerLaunchStats};
}

}  // namespace kprof
