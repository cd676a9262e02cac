#include "daemon/analysis/functions/launches/calls_and_work.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

// A slice of an API of a device's runtime or driver: categories cuda_runtime, cuda_driver, Runtime, mtia_runtime...
bool IsCallCategory(std::string_view category) {
  std::string lower(category);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return (lower.ends_with("runtime") || lower.ends_with("driver")) && !lower.starts_with("os_");
}

}  // namespace

Result<CallsAndWork> CallsAndWork::Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                        const StopSignal& stop) {
  CallsAndWork made(traces);
  const TracePart& of = traces.parts()[part];
  EventFilter work = scope.WorkOf(part);
  work.from_ns.reset();
  work.to_ns.reset();
  RETURN_IF_ERROR(ReadSlices(of, work, stop, *made.charge_, made.work_));
  EventFilter calls;
  calls.accepts_category = IsCallCategory;
  RETURN_IF_ERROR(ReadSlices(of, calls, stop, *made.charge_, made.calls_));
  SortByTrack(made.work_);
  SortByTrack(made.calls_);
  RETURN_IF_ERROR(made.FindCalls());
  return made;
}

void CallsAndWork::CutAt(int64_t time_ns) {
  for (std::vector<PartSlice>* slices : {&calls_, &work_}) {
    for (PartSlice& slice : *slices) {
      if (slice.begin_ns < time_ns) slice.end_ns = std::min(slice.end_ns, time_ns);
    }
  }
}

Status CallsAndWork::FindCalls() {
  std::vector<std::pair<int64_t, uint32_t>> by_correlation;
  RETURN_IF_ERROR(
      charge_->Grow(static_cast<int64_t>(calls_.size() * sizeof(by_correlation[0]) + work_.size() * sizeof(uint32_t))));
  by_correlation.reserve(calls_.size());
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].correlation != kNoValue) by_correlation.emplace_back(calls_[i].correlation, i);
  }
  // Of two calls with one correlation, the first launched it.
  std::sort(by_correlation.begin(), by_correlation.end(), [this](const auto& a, const auto& b) {
    return std::tie(a.first, calls_[a.second].begin_ns, a.second) <
           std::tie(b.first, calls_[b.second].begin_ns, b.second);
  });
  call_of_.assign(work_.size(), kNoCall);
  for (size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].correlation == kNoValue) continue;
    const auto found = std::lower_bound(by_correlation.begin(), by_correlation.end(), work_[i].correlation,
                                        [](const auto& one, int64_t correlation) { return one.first < correlation; });
    if (found != by_correlation.end() && found->first == work_[i].correlation) call_of_[i] = found->second;
  }
  return OkStatus();
}

}  // namespace kprof
