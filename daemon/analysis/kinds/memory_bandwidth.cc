// How fast copies and fills move bytes. Docs: docs/analyses/memory-bandwidth.md.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/copy_sizes.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/hta_rows.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/functions/step_series.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {
namespace {

enum BandwidthTable : size_t { kCopyKinds, kCopiesOverTime };
constexpr int64_t kHtaShortestNs = 1'000;  // HTA gives a copy of no length a microsecond

constexpr AnalysisOption kBandwidthOptions[] = {
    {"stretches", AnalysisType::kInteger, "20", "", "In so many stretches of time is over_time, of each kind", "", 1},
};

struct Copy {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t place = 0;  // of all slices of the part
  int64_t name = 0;
  uint32_t track = 0;
  std::optional<double> bytes;
  std::optional<double> gb_s;  // as the source says
};

// "Memcpy HtoD (Pageable -> Device)" is "Memcpy HtoD".
std::string KindOfCopy(std::string_view name, bool is_hta) {
  if (!is_hta) return std::string(name.substr(0, name.find(" (")));
  if (name.starts_with("Memset")) return "Memset";
  for (const std::string_view kind : {"Memcpy DtoH", "Memcpy HtoD", "Memcpy DtoD"}) {
    if (name.starts_with(kind)) return std::string(kind);
  }
  return "Memcpy Unknown";
}

Result<std::vector<Copy>> FindExactCopies(const TracePart& part, const EventFilter& filter, MemoryCharge& charge,
                                          const StopSignal& stop) {
  std::vector<Copy> copies;
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  SliceColumns slices(*part.reader);
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(slices.Read(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(slices.size() * sizeof(Copy))));
    for (size_t i = 0; i < slices.size(); ++i) {
      copies.push_back({.begin_ns = slices.begin_ns(i),
                        .end_ns = slices.end_ns(i),
                        .place = segment.first_row + selection.RowAt(i),
                        .name = slices.name(i),
                        .track = slices.track(i)});
    }
    return OkStatus();
  }));
  return copies;
}

Result<std::vector<Copy>> FindHtaCopies(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                        MemoryCharge& charge, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const HtaRows read, HtaRows::Read(traces, part, scope, stop));
  std::vector<Copy> copies;
  for (const HtaRow& row : read.rows()) {
    if (row.type != KernelType::kMemory) continue;
    copies.push_back({.begin_ns = row.begin_ns,
                      .end_ns = row.end_ns == row.begin_ns ? row.begin_ns + kHtaShortestNs : row.end_ns,
                      .place = row.place,
                      .name = row.name,
                      .track = row.track});
  }
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(copies.size() * sizeof(Copy))));
  return copies;
}

// The bytes and rates that the source says. REQUIRES: copies are in the order of their places.
Status ReadBytes(PartReader& reader, std::vector<Copy>& copies) {
  std::vector<int64_t> places;
  places.reserve(copies.size());
  for (const Copy& copy : copies) places.push_back(copy.place);
  ASSIGN_OR_RETURN(const std::vector<CopySize> sizes, ReadCopySizes(reader, places));
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i].bytes = sizes[i].bytes;
    copies[i].gb_s = sizes[i].gb_s;
  }
  return OkStatus();
}

// Copies of one kind and device; of a rank, under window=hta.
struct CopyGroup {
  std::vector<const Copy*> copies;
  int64_t pageable = 0;
};

// The sum of the rates of the copies in flight.
std::vector<SeriesPoint> RatesOf(const CopyGroup& group, bool is_hta) {
  std::vector<SeriesPoint> changes;
  for (const Copy* copy : group.copies) {
    std::optional<double> rate = copy->gb_s;
    if (!is_hta) {
      const int64_t ns = copy->end_ns - copy->begin_ns;
      rate = copy->bytes && ns > 0 ? std::optional(*copy->bytes / static_cast<double>(ns)) : std::nullopt;
    }
    if (!rate) continue;
    changes.push_back({copy->begin_ns, *rate});
    changes.push_back({copy->end_ns, -*rate});
  }
  // A copy that begins goes before one that ends at that time: so HTA has it most often. Where times are exact it makes
  // no point.
  std::sort(changes.begin(), changes.end(), [](const SeriesPoint& a, const SeriesPoint& b) {
    return std::tuple(a.time_ns, a.value < 0, a.value) < std::tuple(b.time_ns, b.value < 0, b.value);
  });
  std::vector<SeriesPoint> rates;
  double rate = 0;
  int64_t in_flight = 0;
  for (const SeriesPoint& change : changes) {
    rate += change.value;
    in_flight += change.value < 0 ? -1 : 1;
    if (!is_hta && in_flight == 0) rate = 0;  // without what rounding leaves
    if (!is_hta && !rates.empty() && rates.back().time_ns == change.time_ns) {
      rates.back().value = std::max(rate, 0.0);
    } else {
      rates.push_back({change.time_ns, std::max(rate, 0.0)});
    }
  }
  return rates;
}

int64_t BusyTimeOf(const CopyGroup& group, const DeviceScope& scope, size_t part) {
  IntervalSweep sweep;
  for (const Copy* copy : group.copies) {
    sweep.Add(std::max(copy->begin_ns, scope.from_ns(part).value_or(copy->begin_ns)),
              std::min(copy->end_ns, scope.to_ns(part).value_or(copy->end_ns)));
  }
  std::vector<Interval> pieces;
  sweep.Settle(INT64_MAX, pieces);
  int64_t sum = 0;
  for (const Interval& piece : pieces) sum += piece.end_ns - piece.begin_ns;
  return sum;
}

Status AddGroup(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const AnalysisOptions& options,
                std::optional<int64_t> device, const std::string& kind, const CopyGroup& group,
                AnalysisAnswer& answer) {
  const bool is_hta = scope.is_hta();
  const AnalysisValue rank = ValueOf(traces.parts()[part].rank);
  double bytes = 0;
  double most_gb_s = 0;
  int64_t time_ns = 0;
  double timed_bytes = 0;
  int64_t without_bytes = 0;
  for (const Copy* copy : group.copies) {
    const int64_t ns = copy->end_ns - copy->begin_ns;
    time_ns = SaturatingSum(time_ns, std::max<int64_t>(ns, 0));
    without_bytes += copy->bytes ? 0 : 1;
    if (!copy->bytes) continue;
    bytes += *copy->bytes;
    if (ns <= 0) continue;
    timed_bytes += *copy->bytes;
    most_gb_s = std::max(most_gb_s, *copy->bytes / static_cast<double>(ns));
  }
  const bool has_bytes = without_bytes < static_cast<int64_t>(group.copies.size());
  std::vector<SeriesPoint> rates = RatesOf(group, is_hta);
  const Interval whole = scope.WholeOf(part);
  std::optional<SeriesNumbers> numbers;
  if (is_hta) {
    std::vector<SeriesPoint> points = rates;
    std::erase_if(points, [](const SeriesPoint& point) { return point.value <= 0; });
    numbers = DescribePoints(points);
  } else if (!rates.empty()) {
    numbers = DescribeTime(rates, rates.back().time_ns, true);
  }
  const auto real = [&](double value) { return numbers ? AnalysisValue(value) : AnalysisValue(); };
  const SeriesNumbers shown = numbers.value_or(SeriesNumbers());
  const int64_t busy = BusyTimeOf(group, scope, part);
  RETURN_IF_ERROR(answer.AddRow(
      kCopyKinds,
      {traces.run(part),
       rank,
       ValueOf(device),
       kind,
       static_cast<int64_t>(group.copies.size()),
       has_bytes ? AnalysisValue(static_cast<int64_t>(bytes)) : AnalysisValue(),
       time_ns,
       has_bytes && time_ns > 0 ? AnalysisValue(timed_bytes / static_cast<double>(time_ns)) : AnalysisValue(),
       has_bytes ? AnalysisValue(most_gb_s) : AnalysisValue(),
       group.pageable,
       busy,
       numbers ? AnalysisValue(numbers->points) : AnalysisValue(),
       real(shown.mean),
       shown.stddev ? AnalysisValue(*shown.stddev) : AnalysisValue(),
       real(shown.min),
       real(shown.p25),
       real(shown.p50),
       real(shown.p75),
       real(shown.max),
       without_bytes}));
  if (rates.empty()) return OkStatus();
  const auto most = static_cast<size_t>(options.integer("stretches").value_or(1));
  for (const SeriesStretch& stretch : StretchesOf(rates, whole, most)) {
    if (stretch.max <= 0) continue;
    const int64_t length = stretch.time.end_ns - stretch.time.begin_ns;
    RETURN_IF_ERROR(answer.AddRow(kCopiesOverTime, {traces.run(part), rank, ValueOf(device), kind,
                                                    stretch.time.begin_ns, length, stretch.mean, stretch.max}));
  }
  return OkStatus();
}

// False: there are no copies.
Result<bool> AddCopiesOf(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                         const AnalysisOptions& options, const StopSignal& stop, AnalysisAnswer& answer) {
  MemoryCharge charge(traces.take_memory());
  std::vector<Copy> copies;
  if (scope.is_hta()) {
    ASSIGN_OR_RETURN(copies, FindHtaCopies(traces, part, scope, charge, stop));
  } else {
    ASSIGN_OR_RETURN(copies,
                     FindExactCopies(traces.parts()[part], scope.WorkOf(part, KernelType::kMemory), charge, stop));
  }
  if (copies.empty()) return false;
  PartReader& reader = *traces.parts()[part].reader;
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.place < b.place; });
  RETURN_IF_ERROR(ReadBytes(reader, copies));
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return std::tie(a.begin_ns, a.end_ns, a.place) < std::tie(b.begin_ns, b.end_ns, b.place);
  });
  std::map<std::pair<std::optional<int64_t>, std::string>, CopyGroup> groups;
  int64_t without_bytes = 0;
  for (const Copy& copy : copies) {
    ASSIGN_OR_RETURN(const std::string name, reader.ReadString(copy.name));
    const std::optional<int64_t> device = scope.is_hta() ? std::nullopt : reader.tracks()[copy.track].device;
    CopyGroup& group = groups[{device, KindOfCopy(name, scope.is_hta())}];
    group.copies.push_back(&copy);
    group.pageable += name.find("Pageable") != std::string::npos ? 1 : 0;
    without_bytes += copy.bytes ? 0 : 1;
  }
  for (const auto& [key, group] : groups) {
    RETURN_IF_ERROR(AddGroup(traces, part, scope, options, key.first, key.second, group, answer));
  }
  if (without_bytes > 0) {
    answer.AddNote(traces.NameOf(part) + ": of " + std::to_string(copies.size()) + " copies and fills " +
                   std::to_string(without_bytes) + " say no bytes, so they have no rate");
  }
  return true;
}

Result<AnalysisAnswer> AnswerMemoryBandwidth(const AnalysisTraces& traces, const AnalysisOptions& options,
                                             const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    bool has_some = false;
    if (!scope.never(part)) {
      ASSIGN_OR_RETURN(has_some, AddCopiesOf(traces, part, scope, options, stop, answer));
    }
    if (!has_some) notes.AddLack(part, "no copies", "no copy or fill ran on a device");
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind MemoryBandwidth() {
  using enum AnalysisType;
  return {.name = "memory-bandwidth",
          .version = 1,
          .question = "How many bytes do copies and fills move, and how fast?",
          .options = {kTraceScope, kWindow, kBandwidthOptions},
          .tables = {{"kinds",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device; null under window=hta"},
                       {"kind", kText, "", "Memcpy HtoD, Memcpy DtoH, Memcpy DtoD, Memcpy PtoP, Memset, ..."},
                       {"copies", kInteger, "", "How many"},
                       {"bytes", kInteger, "bytes", "All that say it; null where none does"},
                       {"time_ns", kInteger, "ns", "How long, added up"},
                       {"gb_s", kReal, "gb_s", "bytes of time_ns, 10^9 bytes in a second"},
                       {"max_copy_gb_s", kReal, "gb_s", "The fastest copy"},
                       {"pageable", kInteger, "", "Of or to pageable memory of the host"},
                       {"busy_ns", kInteger, "ns", "The time in which at least one of them ran"},
                       {"points", kInteger, "", "How often the sum of the rates in flight changed, without 0"},
                       {"mean_gb_s", kReal, "gb_s",
                        "Of that sum, over the time with copies; under window=hta of its points"},
                       {"stddev_gb_s", kReal, "gb_s", "Its standard deviation"},
                       {"min_gb_s", kReal, "gb_s", "The least"},
                       {"p25_gb_s", kReal, "gb_s", "In a quarter of the time it was no more"},
                       {"p50_gb_s", kReal, "gb_s", "In half of the time"},
                       {"p75_gb_s", kReal, "gb_s", "In three quarters of the time"},
                       {"max_gb_s", kReal, "gb_s", "The most"},
                       {"without_bytes", kInteger, "", "Copies that say no bytes"}}},
                     {"over_time",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank"},
                       {"device", kInteger, "", "The device"},
                       {"kind", kText, "", "As above"},
                       {"begin_ns", kInteger, "ns", "From the trace's base; stretches without a copy are left out"},
                       {"duration_ns", kInteger, "ns", "The length of this stretch"},
                       {"gb_s", kReal, "gb_s", "The rates in flight, averaged over the stretch"},
                       {"max_gb_s", kReal, "gb_s", "The most of them"}}}},
          .answer = &AnswerMemoryBandwidth};
}

}  // namespace kprof
