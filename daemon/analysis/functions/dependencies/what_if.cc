#include "daemon/analysis/functions/dependencies/what_if.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

int64_t Scaled(int64_t ns, double factor) {
  constexpr double kMost = 4e18;
  return static_cast<int64_t>(std::min(kMost, std::nearbyint(static_cast<double>(ns) / factor)));
}

int64_t TimeWithin(const std::vector<Interval>& open, int64_t from_ns, int64_t to_ns) {
  int64_t within = 0;
  auto at = std::upper_bound(open.begin(), open.end(), from_ns,
                             [](int64_t time, const Interval& one) { return time < one.end_ns; });
  for (; at != open.end() && at->begin_ns < to_ns; ++at) {
    within += std::min(at->end_ns, to_ns) - std::max(at->begin_ns, from_ns);
  }
  return within;
}

}  // namespace

Result<std::vector<WhatIfChange>> ReadChanges(const std::string& text) {
  const auto wrong = [&](std::string why) {
    return Fail(ErrorCode::kUsage, "read option faster", std::move(why), "give NAME=FACTOR, for example '*gemm*=2'");
  };
  std::vector<WhatIfChange> changes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string_view one = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const size_t sign = one.rfind('=');
    if (sign == one.npos || sign == 0) return wrong("'" + ReadableText(one) + "' is not NAME=FACTOR");
    WhatIfChange change{std::string(one.substr(0, sign))};
    const std::string_view factor = one.substr(sign + 1);
    const auto [parsed, error] = std::from_chars(factor.data(), factor.data() + factor.size(), change.factor);
    const bool is_number = error == std::errc() && parsed == factor.data() + factor.size();
    if (!is_number || !std::isfinite(change.factor) || change.factor <= 0) {
      return wrong("'" + ReadableText(factor) + "' is not a factor above 0");
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

WhatIf::WhatIf(const AnalysisTraces& traces, size_t part, const WorkDependencies& dependencies)
    : traces_(traces),
      part_(part),
      reader_(*traces.parts()[part].reader),
      dependencies_(dependencies),
      lengths_(dependencies.graph().Lengths()),
      total_ns_(TotalWith(lengths_)) {}

int64_t WhatIf::TotalWith(const std::vector<int64_t>& lengths) const {
  return graph().EndWith(lengths) - graph().recorded()[DependencyGraph::kOrigin];
}

int64_t WhatIf::BoundOf(DependencyKind kind) const {
  std::vector<int64_t> lengths = lengths_;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (graph().dependencies()[i].kind == kind) lengths[i] = 0;
  }
  return TotalWith(lengths);
}

Result<WhatIf::Prediction> WhatIf::Predict(std::span<const WhatIfChange> changes, const StopSignal& stop) const {
  RETURN_IF_ERROR(StillWanted(stop));
  Prediction prediction;
  std::vector<int64_t> lengths = lengths_;
  for (const WhatIfChange& change : changes) {
    ASSIGN_OR_RETURN(const std::set<int64_t> names, FindNames(change.name));
    if (names.empty()) continue;
    MemoryCharge charge(traces_.take_memory());
    ASSIGN_OR_RETURN(const std::vector<PartSlice> slices, ReadHostSlices(names, stop, charge));
    Apply(names, change.factor, HostTimesOf(slices), lengths, prediction);
  }
  prediction.total_ns = TotalWith(lengths);
  return prediction;
}

Result<std::vector<int64_t>> WhatIf::PredictEach(std::span<const int64_t> names, double factor,
                                                 const StopSignal& stop) const {
  MemoryCharge charge(traces_.take_memory());
  ASSIGN_OR_RETURN(const std::vector<PartSlice> slices, ReadHostSlices({names.begin(), names.end()}, stop, charge));
  std::unordered_map<int64_t, std::vector<PartSlice>> of_names;
  for (const PartSlice& slice : slices) of_names[slice.name].push_back(slice);
  std::vector<int64_t> totals;
  totals.reserve(names.size());
  for (const int64_t name : names) {
    RETURN_IF_ERROR(StillWanted(stop));
    Prediction prediction;
    std::vector<int64_t> lengths = lengths_;
    Apply({name}, factor, HostTimesOf(of_names[name]), lengths, prediction);
    totals.push_back(TotalWith(lengths));
  }
  return totals;
}

Result<std::set<int64_t>> WhatIf::FindNames(const std::string& name) const {
  std::set<int64_t> names;
  ASSIGN_OR_RETURN(const std::optional<int64_t> same, reader_.FindString(name));
  if (same) {
    names.insert(*same);
  } else if (HasWildcards(name)) {
    RETURN_IF_ERROR(reader_.ForEachString([&](int64_t id, std::string_view text) {
      if (MatchesPattern(name, text)) names.insert(id);
      return true;
    }));
  }
  return names;
}

Result<std::vector<PartSlice>> WhatIf::ReadHostSlices(const std::set<int64_t>& names, const StopSignal& stop,
                                                      MemoryCharge& charge) const {
  std::unordered_set<std::string> texts;
  for (const int64_t name : names) {
    ASSIGN_OR_RETURN(std::string text, reader_.ReadString(name));
    texts.insert(std::move(text));
  }
  EventFilter filter;
  filter.accepts_name = [&](std::string_view name) { return texts.contains(std::string(name)); };
  for (const TrackRow& track : reader_.tracks()) {
    if (track.kind != "gpu_stream") filter.tracks.push_back(track.id);
  }
  std::vector<PartSlice> slices;
  if (filter.tracks.empty()) return slices;
  RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, charge, slices));
  SortByTrack(slices);
  return slices;
}

WhatIf::HostTimes WhatIf::HostTimesOf(std::span<const PartSlice> slices) {
  HostTimes times{.slices = static_cast<int64_t>(slices.size())};
  for (const PartSlice& slice : slices) {
    std::vector<Interval>& open = times.of_tracks[slice.track];
    if (!open.empty() && slice.begin_ns <= open.back().end_ns) {
      if (slice.end_ns <= open.back().end_ns) continue;
      times.ns += slice.end_ns - open.back().end_ns;
      open.back().end_ns = slice.end_ns;
    } else {
      times.ns += slice.end_ns - slice.begin_ns;
      open.push_back({slice.begin_ns, slice.end_ns});
    }
  }
  return times;
}

void WhatIf::Apply(const std::set<int64_t>& names, double factor, const HostTimes& of_host,
                   std::vector<int64_t>& lengths, Prediction& prediction) const {
  const std::vector<PartSlice>& work = dependencies_.work().work();
  const int64_t only = names.size() == 1 ? *names.begin() : kNoValue;
  prediction.is_found |= of_host.slices > 0;
  prediction.changed += of_host.slices;
  prediction.changed_ns = SaturatingSum(prediction.changed_ns, of_host.ns);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Dependency& one = graph().dependencies()[i];
    if (one.kind == DependencyKind::kDevice) {
      const int64_t name = work[one.subject].name;
      if (only != kNoValue ? name != only : !names.contains(name)) continue;
      prediction.is_found = true;
      // Work that overlaps the next on its stream has a second dependency.
      if (graph().recorded()[one.to] == work[one.subject].end_ns) {
        ++prediction.changed;
        prediction.changed_ns = SaturatingSum(prediction.changed_ns, lengths_[i]);
      }
      lengths[i] = Scaled(lengths[i], factor);
    } else if (one.kind == DependencyKind::kHost && lengths_[i] > 0 && of_host.slices > 0) {
      const auto found = of_host.of_tracks.find(one.subject);
      if (found == of_host.of_tracks.end()) continue;
      const int64_t from = graph().recorded()[one.from];
      const int64_t to = graph().recorded()[one.to];
      // A call that waited has less time of its own than lies between its points.
      const int64_t within = std::min(TimeWithin(found->second, from, to), lengths_[i]);
      lengths[i] += Scaled(within, factor) - within;
      lengths[i] = std::max<int64_t>(lengths[i], 0);
    }
  }
}

}  // namespace kprof
