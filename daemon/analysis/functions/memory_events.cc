#include "daemon/analysis/functions/memory_events.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr std::string_view kKinetoName = "[memory]";
constexpr std::string_view kNsysCategory = "cuda_gpu_memory_usage_events";

enum MemoryField : size_t { kBytes, kAddress, kAllocated, kReserved, kDevice, kKind, kOperation, kMemoryFields };
using MemoryKeys = std::array<std::string_view, kMemoryFields>;
constexpr MemoryKeys kKinetoKeys = {"Bytes",       "Addr", "Total Allocated", "Total Reserved", "Device Id",
                                    "Device Type", ""};
constexpr MemoryKeys kNsysKeys = {"bytes", "address", "", "", "deviceId", "memKind", "memoryOperationType"};

// Torch's numbers of device types (c10::DeviceType), those of GPUs by whatever maker under one word.
std::string KindOfDeviceType(int64_t type) {
  constexpr std::string_view kNames[] = {"cpu",  "gpu",  "mkldnn", "opengl", "opencl", "ideep", "gpu",
                                         "fpga", "maia", "xla",    "vulkan", "metal",  "gpu",   "gpu",
                                         "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuse1"};
  if (type >= 0 && type < static_cast<int64_t>(std::size(kNames))) return std::string(kNames[type]);
  return "type " + std::to_string(type);
}

// As Nsight Systems has them, by their numbers.
std::string KindOfMemory(int64_t kind) {
  constexpr std::string_view kNames[] = {"pageable",      "pinned",         "gpu",    "array", "managed",
                                         "device static", "managed static", "unknown"};
  if (kind >= 0 && kind < static_cast<int64_t>(std::size(kNames))) return std::string(kNames[kind]);
  return "kind " + std::to_string(kind);
}

class MemoryReading {
 public:
  MemoryReading(const TracePart& part, bool is_kineto, MemoryEvents& into)
      : part_(part), reader_(*part.reader), is_kineto_(is_kineto), into_(into) {}

  Status Read(const StopSignal& stop, MemoryCharge& charge) {
    const MemoryKeys& keys = is_kineto_ ? kKinetoKeys : kNsysKeys;
    for (size_t field = 0; field < kMemoryFields; ++field) {
      if (keys[field].empty()) continue;
      ASSIGN_OR_RETURN(keys_[field], reader_.FindString(keys[field]));
    }
    if (!keys_[kBytes]) return OkStatus();
    EventFilter filter;
    if (is_kineto_) {
      filter.names = {std::string(kKinetoName)};
    } else {
      filter.categories = {std::string(kNsysCategory)};
    }
    ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part_, EventKind::kInstant));
    return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
      const size_t rows = selection.all ? segment.rows : selection.rows.size();
      RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(rows * sizeof(MemoryEvent))));
      return AddRows(segment, selection, rows);
    });
  }

 private:
  struct SlotValues {
    DecodedColumn values;  // null: the shape has no such argument
    ArgType type = ArgType::kNull;
  };
  using ShapeValues = std::array<SlotValues, kMemoryFields>;

  Result<ShapeValues> ReadShape(const Segment& segment, int64_t number) {
    ShapeValues shape;
    const ArgShape& slots = reader_.shapes()[static_cast<size_t>(number)];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      for (size_t field = 0; field < kMemoryFields; ++field) {
        if (slots[slot].of_event || !keys_[field] || int64_t{slots[slot].key} != *keys_[field]) continue;
        if (slots[slot].type != ArgType::kInteger && slots[slot].type != ArgType::kString) continue;
        ASSIGN_OR_RETURN(shape[field].values, reader_.ReadArg(segment, static_cast<uint32_t>(number), slot));
        shape[field].type = slots[slot].type;
      }
    }
    return shape;
  }

  Status AddRows(const Segment& segment, const RowSelection& selection, size_t rows) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_.ReadBounds(segment, EventColumn::kShape));
    if (!bounds) return OkStatus();
    ASSIGN_OR_RETURN(const DecodedColumn numbers, reader_.Read(segment, EventColumn::kShape));
    RETURN_IF_ERROR(GatherValues(reader_, segment, EventColumn::kTime, selection, times_));
    RETURN_IF_ERROR(GatherValues(reader_, segment, EventColumn::kTrack, selection, tracks_));
    std::unordered_map<int64_t, ShapeValues> shapes;
    std::vector<size_t> seen_of(reader_.shapes().size());  // of each shape, how many rows were seen
    size_t seen = 0;
    const auto see = [&](int64_t number) {
      if (number >= 0 && number < static_cast<int64_t>(seen_of.size())) ++seen_of[static_cast<size_t>(number)];
    };
    for (size_t i = 0; i < rows; ++i) {
      const size_t row = selection.all ? i : selection.rows[i];
      for (; seen < row; ++seen) see((*numbers)[seen]);
      const int64_t number = (*numbers)[row];
      if (number < 0 || number >= static_cast<int64_t>(seen_of.size())) continue;
      const auto [shape, is_new] = shapes.try_emplace(number);
      if (is_new) {
        ASSIGN_OR_RETURN(shape->second, ReadShape(segment, number));
      }
      RETURN_IF_ERROR(AddEvent(shape->second, seen_of[static_cast<size_t>(number)], SafeTime(times_[i]), tracks_[i]));
    }
    return OkStatus();
  }

  static int64_t IntegerOf(const ShapeValues& shape, MemoryField field, size_t at) {
    const SlotValues& slot = shape[field];
    if (slot.values == nullptr || slot.type != ArgType::kInteger || at >= slot.values->size()) return kNoValue;
    return (*slot.values)[at];
  }

  Result<std::string> TextOf(const ShapeValues& shape, MemoryField field, size_t at) {
    const SlotValues& slot = shape[field];
    if (slot.values == nullptr || slot.type != ArgType::kString || at >= slot.values->size()) return {""};
    ASSIGN_OR_RETURN(std::string text, reader_.ReadString((*slot.values)[at]));
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  Status AddEvent(const ShapeValues& shape, size_t at, int64_t time_ns, int64_t track) {
    constexpr int64_t kMostBytes = int64_t{1} << 56;
    MemoryEvent event{.time_ns = time_ns};
    event.bytes = IntegerOf(shape, kBytes, at);
    if (event.bytes == kNoValue || event.bytes > kMostBytes || event.bytes < -kMostBytes) return OkStatus();
    if (static_cast<uint64_t>(track) >= reader_.tracks().size()) {
      return reader_.Broken("an instant is on a track that is not there");
    }
    event.track = static_cast<uint32_t>(track);
    event.address = IntegerOf(shape, kAddress, at);
    event.allocated = IntegerOf(shape, kAllocated, at);
    event.reserved = IntegerOf(shape, kReserved, at);
    event.device = IntegerOf(shape, kDevice, at);
    if (event.device < 0) event.device = kNoValue;
    ASSIGN_OR_RETURN(const std::string operation, TextOf(shape, kOperation, at));
    const bool is_free = IntegerOf(shape, kOperation, at) == 1 || operation.starts_with("dealloc");
    if (!is_kineto_ && is_free) event.bytes = -event.bytes;
    ASSIGN_OR_RETURN(std::string kind, TextOf(shape, kKind, at));
    const int64_t number = IntegerOf(shape, kKind, at);
    if (kind == "device") kind = "gpu";
    if (kind.empty() && number != kNoValue) kind = is_kineto_ ? KindOfDeviceType(number) : KindOfMemory(number);
    if (kind == "cpu" || kind == "pinned" || kind == "pageable") event.device = kNoValue;
    const auto found = std::find(into_.kinds.begin(), into_.kinds.end(), kind);
    event.kind = static_cast<uint32_t>(found - into_.kinds.begin());
    if (found == into_.kinds.end()) {
      constexpr size_t kMostKinds = 256;
      if (into_.kinds.size() >= kMostKinds) return OkStatus();
      into_.kinds.push_back(kind);
    }
    into_.events.push_back(event);
    return OkStatus();
  }

  const TracePart& part_;
  PartReader& reader_;
  const bool is_kineto_;
  MemoryEvents& into_;
  std::array<std::optional<int64_t>, kMemoryFields> keys_;
  std::vector<int64_t> times_;
  std::vector<int64_t> tracks_;
};

}  // namespace

Result<MemoryEvents> ReadMemoryEvents(const TracePart& part, const StopSignal& stop, MemoryCharge& charge) {
  MemoryEvents found;
  for (const bool is_kineto : {true, false}) {
    RETURN_IF_ERROR(MemoryReading(part, is_kineto, found).Read(stop, charge));
  }
  std::stable_sort(found.events.begin(), found.events.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  return found;
}

}  // namespace kprof
