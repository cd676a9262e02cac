#include "daemon/exports/counter_events.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

struct Sample {
  uint32_t counter = 0;
  int64_t time_ns = 0;
  size_t nth = 0;    // of its track at that time
  size_t alone = 0;  // another number for each that stands alone; 0: it does not
  uint32_t track = 0;
  size_t row = 0;

  auto event() const { return std::tuple(counter, time_ns, nth, alone); }
  bool operator<(const Sample& other) const {
    return std::tuple(event(), track, row) < std::tuple(other.event(), other.track, other.row);
  }
};

}  // namespace

CounterEvents::CounterEvents(std::span<const TrackPlace> places) {
  // A series that a counter has twice is another counter's of that name.
  std::map<std::tuple<std::string_view, std::string_view, uint32_t>, uint32_t> counters;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, uint32_t> same;
  for (const TrackPlace& place : places) {
    const uint32_t before = same[{place.pid, place.name, place.series}]++;
    const auto number = static_cast<uint32_t>(counters.size());
    counters_.push_back(counters.try_emplace({place.pid, place.name, before}, number).first->second);
  }
}

std::vector<std::vector<size_t>> CounterEvents::Of(SegmentRows& rows) const {
  std::vector<Sample> samples;
  samples.reserve(rows.size());
  std::map<std::pair<uint32_t, int64_t>, size_t> seen;
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t track = rows.track(row);
    const int64_t time_ns = rows.Of(EventColumn::kTime, row);
    const std::span<const SegmentRows::Arg> written = rows.Args(row);
    const bool is_text = !written.empty() && written[0].slot.type == ArgType::kString;
    samples.push_back({counters_[track], time_ns, seen[{track, time_ns}]++, is_text ? row + 1 : 0, track, row});
  }
  std::sort(samples.begin(), samples.end());
  std::vector<std::vector<size_t>> events;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i].event() != samples[i - 1].event()) events.emplace_back();
    events.back().push_back(samples[i].row);
  }
  return events;
}

}  // namespace kprof
