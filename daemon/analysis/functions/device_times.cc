#include "daemon/analysis/functions/device_times.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/hta_rows.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {
namespace {

// The devices of a part's tracks, and which of them each track is of.
struct Devices {
  std::vector<std::optional<int64_t>> all;
  std::vector<uint32_t> of_tracks;
};

Devices DevicesOf(const TracePart& part) {
  Devices devices;
  for (const TrackRow& track : part.reader->tracks()) {
    const auto found = std::find(devices.all.begin(), devices.all.end(), track.device);
    devices.of_tracks.push_back(static_cast<uint32_t>(found - devices.all.begin()));
    if (found == devices.all.end()) devices.all.push_back(track.device);
  }
  return devices;
}

Status AddExactTimes(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                     std::vector<DeviceTimes>& times) {
  const Devices devices = DevicesOf(traces.parts()[part]);
  const Interval whole = scope.WholeOf(part);
  std::vector<DeviceTimes> of_devices(devices.all.size());
  const auto see = [&](uint32_t device, std::span<const std::vector<Interval>> pieces,
                       std::span<const int64_t> slices) {
    for (const int64_t count : slices) of_devices[device].slices += count;
    AddTimesAtOnce(pieces, of_devices[device].at_once_ns);
  };
  std::vector<EventFilter> filters;
  for (size_t type = 0; type < kKernelTypes; ++type) {
    filters.push_back(scope.WorkOf(part, static_cast<KernelType>(type)));
  }
  RETURN_IF_ERROR(SweepSlices(traces.parts()[part], filters, devices.of_tracks, stop, see));
  for (size_t i = 0; i < of_devices.size(); ++i) {
    DeviceTimes& of = of_devices[i];
    if (of.slices == 0) continue;
    of.part = part;
    of.device = devices.all[i];
    of.whole_ns = whole.end_ns - whole.begin_ns;
    for (size_t types = 1; types < of.at_once_ns.size(); ++types) {
      of.busy_ns += of.at_once_ns[types];
      for (size_t type = 0; type < kKernelTypes; ++type) {
        if ((types >> type & 1) != 0) of.of_type_ns[type] += of.at_once_ns[types];
      }
    }
    times.push_back(of);
  }
  return OkStatus();
}

// A union as HTA makes it: of what begins in order, where what begins after all before it has ended begins a new piece.
// Rows that end before they begin are pieces of less than no length, where they stand alone.
std::vector<Interval> HtaUnion(const std::vector<HtaRow>& rows, std::optional<KernelType> type) {
  std::vector<Interval> all;
  for (const HtaRow& row : rows) {
    if (!type || row.type == *type) all.push_back({row.begin_ns, row.end_ns});
  }
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
    return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
  });
  size_t pieces = 0;
  for (const Interval& next : all) {
    if (pieces > 0 && next.begin_ns <= all[pieces - 1].end_ns) {
      all[pieces - 1].end_ns = std::max(all[pieces - 1].end_ns, next.end_ns);
    } else {
      all[pieces++] = next;
    }
  }
  all.resize(pieces);
  return all;
}

int64_t LengthOf(const std::vector<Interval>& pieces) {
  int64_t length = 0;
  for (const Interval& piece : pieces) length += piece.end_ns - piece.begin_ns;
  return length;
}

void DropNegative(std::vector<Interval>& pieces) {
  std::erase_if(pieces, [](const Interval& piece) { return piece.end_ns <= piece.begin_ns; });
}

std::optional<int64_t> OnlyDeviceOf(const PartReader& reader, const std::vector<HtaRow>& rows) {
  std::optional<int64_t> device;
  for (const HtaRow& row : rows) {
    const std::optional<int64_t> of_row = reader.tracks()[row.track].device;
    if (device && of_row && *device != *of_row) return std::nullopt;
    if (of_row) device = of_row;
  }
  return device;
}

Status AddHtaTimes(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop,
                   std::vector<DeviceTimes>& times) {
  ASSIGN_OR_RETURN(const HtaRows read, HtaRows::Read(traces, part, scope, stop));
  const std::vector<HtaRow>& rows = read.rows();
  if (rows.empty()) return OkStatus();
  DeviceTimes of{.part = part, .device = OnlyDeviceOf(*traces.parts()[part].reader, rows)};
  of.slices = static_cast<int64_t>(rows.size());
  std::vector<Interval> all = HtaUnion(rows, std::nullopt);
  of.whole_ns = all.back().end_ns - all.front().begin_ns;
  of.busy_ns = LengthOf(all);
  std::vector<std::vector<Interval>> of_types;
  for (size_t type = 0; type < kKernelTypes; ++type) {
    of_types.push_back(HtaUnion(rows, static_cast<KernelType>(type)));
    of.of_type_ns[type] = LengthOf(of_types.back());
    DropNegative(of_types.back());
  }
  AddTimesAtOnce(of_types, of.at_once_ns);
  if (of.busy_ns < of.of(KernelType::kCompute)) {
    DropNegative(all);
    of.busy_ns = LengthOf(all);
    of.of_type_ns = {};
    for (size_t type = 0; type < kKernelTypes; ++type) of.of_type_ns[type] = LengthOf(of_types[type]);
    of.is_corrected = true;
  }
  times.push_back(of);
  return OkStatus();
}

}  // namespace

Result<std::vector<DeviceTimes>> FindDeviceTimes(const AnalysisTraces& traces, const AnalysisOptions& options,
                                                 const StopSignal& stop, AnalysisAnswer& notes) {
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<DeviceTimes> times;
  PartNotes lacks(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    const size_t before = times.size();
    if (!scope.never(part)) {
      RETURN_IF_ERROR(scope.is_hta() ? AddHtaTimes(traces, part, scope, stop, times)
                                     : AddExactTimes(traces, part, scope, stop, times));
    }
    if (times.size() == before) lacks.AddLack(part, "no kernels", "nothing ran on a device");
  }
  lacks.AddTo(traces, notes);
  return times;
}

}  // namespace kprof
