#include "daemon/analysis/functions/hta_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

constexpr int64_t kNanosOfMicro = 1'000;
constexpr int64_t kNoStream = -1;  // what HTA itself writes where there is none

int64_t FloorMicros(int64_t time_ns) {
  const int64_t rest = time_ns % kNanosOfMicro;
  return time_ns - (rest < 0 ? rest + kNanosOfMicro : rest);
}

// Which slot of a shape is the argument `stream`, as a whole number.
using StreamSlots = std::map<uint32_t, uint32_t>;

Result<StreamSlots> FindStreamSlots(PartReader& reader) {
  StreamSlots slots;
  ASSIGN_OR_RETURN(const std::optional<int64_t> key, reader.FindString("stream"));
  if (!key) return slots;
  for (uint32_t shape = 0; shape < reader.shapes().size(); ++shape) {
    const ArgShape& args = reader.shapes()[shape];
    for (uint32_t slot = 0; slot < args.size(); ++slot) {
      const bool is_stream = args[slot].key == *key && args[slot].type == ArgType::kInteger && !args[slot].of_event;
      if (is_stream) slots.emplace(shape, slot);
    }
  }
  return slots;
}

struct StreamRow {
  uint32_t row = 0;
  int64_t stream = kNoStream;
};

// The rows of a segment that have a stream.
Result<std::vector<StreamRow>> RowsWithStream(PartReader& reader, const Segment& segment, const StreamSlots& slots) {
  std::vector<StreamRow> rows;
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kShape));
  if (!bounds) return rows;
  const auto first = slots.lower_bound(static_cast<uint32_t>(std::clamp<int64_t>(bounds->min, 0, UINT32_MAX)));
  if (first == slots.end() || int64_t{first->first} > bounds->max) return rows;
  ASSIGN_OR_RETURN(const DecodedColumn shapes, reader.Read(segment, EventColumn::kShape));
  std::map<uint32_t, std::vector<uint32_t>> of_shapes;
  for (uint32_t row = 0; row < shapes->size(); ++row) {
    const int64_t shape = (*shapes)[row];
    if (shape >= 0 && shape <= UINT32_MAX && slots.contains(static_cast<uint32_t>(shape))) {
      of_shapes[static_cast<uint32_t>(shape)].push_back(row);
    }
  }
  for (const auto& [shape, of_shape] : of_shapes) {
    ASSIGN_OR_RETURN(const DecodedColumn streams, reader.ReadArg(segment, shape, slots.at(shape)));
    for (size_t i = 0; i < of_shape.size() && i < streams->size(); ++i) {
      if ((*streams)[i] != kNoStream) rows.push_back({of_shape[i], (*streams)[i]});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const StreamRow& a, const StreamRow& b) { return a.row < b.row; });
  return rows;
}

// From the source's microseconds: what the part's time 0 is there.
int64_t SourceBase(const PartReader& reader) {
  const int64_t base = reader.IntegerFact("base_source_ns").value_or(0);
  return ((base % kNanosOfMicro) + kNanosOfMicro) % kNanosOfMicro;  // more of it does not matter for rounding
}

// HTA's idle times are of these alone.
constexpr std::string_view kOperationCategories[] = {"kernel",     "Kernel", "gpu_memset",     "Memset",
                                                     "gpu_memcpy", "Memcpy", "mtia_ccp_events"};

class HtaReading {
 public:
  HtaReading(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, MemoryCharge& charge)
      : part_(traces.parts()[part]), at_(part), scope_(scope), charge_(charge), slices_(*part_.reader) {}

  Status Read(const StopSignal& stop, HtaClock& clock, std::vector<HtaRow>& rows) {
    clock.base_ns = SourceBase(reader());
    ASSIGN_OR_RETURN(const std::vector<ProfilerStep> steps, FindProfilerSteps(part_, stop));
    if (steps.size() >= 2) clock.cut_ns = clock.RoundedUp(steps.back().begin_ns);
    clock_ = clock;
    ASSIGN_OR_RETURN(slots_, FindStreamSlots(reader()));
    std::optional<PartFilter> work;
    if (slots_.empty()) {
      ASSIGN_OR_RETURN(work, PartFilter::Bind(scope_.WorkOf(at_), part_, EventKind::kSlice));
    }
    RowSelection selection;
    for (const Segment& segment : reader().segments(EventKind::kSlice)) {
      RETURN_IF_ERROR(StillWanted(stop));
      selection.all = false;
      selection.rows.clear();
      if (work) {
        RETURN_IF_ERROR(
            work->ForOne(segment, selection, [](const Segment&, const RowSelection&) { return OkStatus(); }));
        if (selection.all) {
          selection.all = false;
          for (uint32_t row = 0; row < segment.rows; ++row) selection.rows.push_back(row);
        }
      } else {
        streams_.clear();
        ASSIGN_OR_RETURN(const std::vector<StreamRow> found, RowsWithStream(reader(), segment, slots_));
        for (const StreamRow& row : found) {
          selection.rows.push_back(row.row);
          streams_.push_back(row.stream);
        }
      }
      if (clock_.cut_ns) RETURN_IF_ERROR(AddLaunches(segment, selection));
      if (!selection.rows.empty()) RETURN_IF_ERROR(AddRows(segment, selection, rows));
    }
    if (clock_.cut_ns) LeaveOutLater(rows);
    return OkStatus();
  }

 private:
  PartReader& reader() const { return *part_.reader; }

  // Correlations of what the host began before the cut.
  Status AddLaunches(const Segment& segment, const RowSelection& of_devices) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader().ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds || segment.min_time_ns >= *clock_.cut_ns) return OkStatus();
    ASSIGN_OR_RETURN(const DecodedColumn times, reader().Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn values, reader().Read(segment, EventColumn::kCorrelation));
    const size_t before = launched_.size();
    auto device_row = of_devices.rows.begin();
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (device_row != of_devices.rows.end() && *device_row == row) {
        ++device_row;
        continue;
      }
      if ((*values)[row] == kNoValue || clock_.RoundedUp(SafeTime((*times)[row])) >= *clock_.cut_ns) continue;
      launched_.push_back((*values)[row]);
    }
    return charge_.Grow(static_cast<int64_t>((launched_.size() - before) * sizeof(int64_t)));
  }

  Status AddRows(const Segment& segment, const RowSelection& selection, std::vector<HtaRow>& rows) {
    RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(selection.rows.size() * sizeof(HtaRow))));
    RETURN_IF_ERROR(slices_.ReadWithCorrelations(segment, selection));
    categories_.clear();
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> categories,
                     reader().ReadBounds(segment, EventColumn::kCategory));
    if (categories) RETURN_IF_ERROR(GatherValues(reader(), segment, EventColumn::kCategory, selection, categories_));
    const std::optional<int64_t> from = scope_.from_ns(at_);
    const std::optional<int64_t> to = scope_.to_ns(at_);
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (!slices_.has_end(i)) continue;
      const int64_t begin = slices_.begin_ns(i);
      const int64_t end = slices_.end_ns(i);
      if ((from && std::max(end, begin + 1) <= *from) || (to && begin >= *to)) continue;
      const uint32_t track = slices_.track(i);
      if (scope_.device() && reader().tracks()[track].device != scope_.device()) continue;
      HtaRow row{.begin_ns = clock_.RoundedUp(begin),
                 .end_ns = clock_.RoundedDown(end),
                 .name = slices_.name(i),
                 .correlation = slices_.correlation(i),
                 .place = segment.first_row + selection.rows[i],
                 .track = track};
      if (from) row.begin_ns = std::max(row.begin_ns, clock_.RoundedUp(*from));
      if (to) row.end_ns = std::min(row.end_ns, clock_.RoundedDown(*to));
      row.stream = slots_.empty() ? reader().tracks()[track].stream.value_or(kNoStream) : streams_[i];
      if (!categories_.empty()) {
        ASSIGN_OR_RETURN(row.is_operation, IsOperation(categories_[i]));
      }
      row.is_operation |= slots_.empty();
      ASSIGN_OR_RETURN(row.type, TypeOf(slices_.name(i)));
      rows.push_back(row);
    }
    return OkStatus();
  }

  Result<KernelType> TypeOf(int64_t name) {
    const auto found = types_.find(name);
    if (found != types_.end()) return found->second;
    ASSIGN_OR_RETURN(const std::string text, reader().ReadString(name));
    return types_[name] = HtaTypeOfKernel(text);
  }

  Result<bool> IsOperation(int64_t category) {
    const auto found = operations_.find(category);
    if (found != operations_.end()) return found->second;
    ASSIGN_OR_RETURN(const std::string text, reader().ReadString(category));
    return operations_[category] = std::find(std::begin(kOperationCategories), std::end(kOperationCategories), text) !=
                                   std::end(kOperationCategories);
  }

  void LeaveOutLater(std::vector<HtaRow>& rows) {
    std::sort(launched_.begin(), launched_.end());
    std::erase_if(rows, [this](const HtaRow& row) {
      return row.correlation == kNoValue || !std::binary_search(launched_.begin(), launched_.end(), row.correlation);
    });
  }

  const TracePart& part_;
  const size_t at_;
  const DeviceScope& scope_;
  MemoryCharge& charge_;
  HtaClock clock_;
  StreamSlots slots_;
  std::map<int64_t, KernelType> types_;  // by name
  std::map<int64_t, bool> operations_;   // by category
  std::vector<int64_t> launched_;
  SliceColumns slices_;
  std::vector<int64_t> categories_;  // empty: the segment has none
  std::vector<int64_t> streams_;     // unused without slots
};

}  // namespace

int64_t HtaClock::RoundedDown(int64_t time_ns) const {
  return FloorMicros(time_ns + base_ns) - base_ns;
}

int64_t HtaClock::RoundedUp(int64_t time_ns) const {
  return -FloorMicros(-(time_ns + base_ns)) - base_ns;
}

Result<HtaRows> HtaRows::Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                              const StopSignal& stop) {
  HtaRows made(traces);
  if (scope.never(part)) return made;
  HtaReading reading(traces, part, scope, *made.charge_);
  RETURN_IF_ERROR(reading.Read(stop, made.clock_, made.rows_));
  return made;
}

AnalysisValue HtaPercent(int64_t part, int64_t whole, int digits) {
  if (whole == 0) return AnalysisValue();
  const double scale = std::pow(10.0, digits);
  return std::nearbyint(100.0 * static_cast<double>(part) / static_cast<double>(whole) * scale) / scale;
}

}  // namespace kprof
