#include "daemon/ingest/nsys/nsys_gpu_events.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/ingest/nsys/nsys_cursor.h"
#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

constexpr size_t kMostMetrics = 1 << 16;
constexpr size_t kMostFields = 256;

struct MetricName {
  std::string name;
  std::string type;
};
using MetricId = std::pair<int64_t, int64_t>;  // of its type and its own

std::map<MetricId, MetricName> ReadNames(NsysDatabase& database) {
  std::map<MetricId, MetricName> names;
  const NsysTable* table = database.Find("TARGET_INFO_GPU_METRICS");
  if (table == nullptr) return names;
  const int type = table->Find("typeId");
  const int metric = table->Find("metricId");
  const int name = table->Find("metricName");
  const int type_name = table->Find("typeName");
  if (type < 0 || metric < 0 || name < 0) return names;
  NsysQuery rows = database.Scan(*table);
  while (names.size() < kMostMetrics && rows.Next()) {
    names[{rows.Integer(type), rows.Integer(metric)}] = {
        std::string(rows.Text(name)), type_name < 0 ? std::string() : std::string(rows.Text(type_name))};
  }
  return names;
}

void AddSample(BatchBuilder& batch, int64_t time_ns, uint32_t track, const CounterSample& sample,
               std::string_view text) {
  if (!sample.written) return batch.AddCounter(time_ns, track, sample.value);
  const EventArg written{batch.Text(kSampleKey), *sample.written,
                         IsStringNumber(*sample.written) ? int64_t{batch.Text(text)} : sample.column};
  batch.AddCounter(time_ns, track, sample.value, std::span(&written, 1));
}

// Calls `take` with the name and the value of each number that is a field of a JSON object, itself not in another.
template <typename Take>
void TakeNumbers(std::string json, const Take& take) {
  const size_t size = json.size();
  json.append(kScanSlackBytes, '\0');
  const char* const end = json.data() + size;
  const char* at = SkipSpace(json.data());
  if (at >= end || *at != '{') return;
  ++at;
  for (size_t fields = 0; fields < kMostFields; ++fields) {
    at = SkipSpace(at);
    if (at >= end || *at != '"') return;
    const char* const key = at + 1;
    const char* const key_end = FindStringEnd(key, end);
    if (key_end == nullptr) return;
    at = SkipSpace(key_end + 1);
    if (at >= end || *at != ':') return;
    const char* const value = SkipSpace(at + 1);
    const char* const value_end = value < end ? FindValueEnd(value, end) : nullptr;
    if (value_end == nullptr) return;
    if (BeginsNumber(*value)) {
      const std::string_view text(value, value_end);
      if (const auto sample = ReadCounterSample(text, false)) take(std::string_view(key, key_end), *sample, text);
    }
    at = SkipSpace(value_end);
    if (at >= end || *at != ',') return;
    ++at;
  }
}

}  // namespace

Status ReadNsysGpuMetrics(NsysSource& source, const NsysTable& table) {
  const std::map<MetricId, MetricName> names = ReadNames(source.database);
  std::map<MetricId, uint32_t> tracks;
  NsysCursor row(source, table);
  const int timestamp = row.Find("timestamp");
  const int type = row.Find("typeId");
  const int metric = row.Find("metricId");
  const int value = row.Find("value");
  while (row.Next()) {
    const std::optional<int64_t> time_ns = row.Time(timestamp);
    if (!time_ns) {
      row.SkipUntimed();
      continue;
    }
    const std::optional<CounterSample> sample = row.Sample(value);
    if (!sample) {
      row.SkipValueless();
      continue;
    }
    const MetricId id{row.Integer(type), row.Integer(metric)};
    auto track = tracks.find(id);
    if (track == tracks.end()) {
      if (tracks.size() >= kMostMetrics) tracks.clear();
      const auto name = names.find(id);
      const bool known = name != names.end();
      // The GPU's number is the lowest byte of the type's.
      track = tracks
                  .emplace(id, source.tracks.Counter(
                                   known ? name->second.name : "metric " + std::to_string(id.second),
                                   known && !name->second.type.empty() ? name->second.type : std::to_string(id.first),
                                   id.first & 0xff))
                  .first;
    }
    AddSample(source.batch, *time_ns, track->second, *sample, row.Text(value));
  }
  return row.Finish();
}

Status ReadNsysGenericEvents(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int timestamp = row.Take("timestamp");
  const int type = row.Find("typeId");
  const int data = row.Find("data");
  const uint32_t category = source.batch.Text("generic");
  while (row.Next()) {
    const std::optional<int64_t> time_ns = row.Time(timestamp);
    if (!time_ns) {
      row.SkipUntimed();
      continue;
    }
    const std::string name = "generic event " + std::to_string(row.Integer(type));
    const uint32_t track = source.tracks.OfProcess(NsysTracks::kNone, "other", name);
    source.batch.AddInstant({*time_ns, track, source.batch.Text(name), category, row.Args()});
    TakeNumbers(std::string(row.Text(data)),
                [&](std::string_view field, const CounterSample& sample, std::string_view text) {
                  AddSample(source.batch, *time_ns, source.tracks.Counter(field, name, std::nullopt), sample, text);
                });
  }
  return row.Finish();
}

namespace {

// The columns that all tables of GPU work have.
struct GpuColumns {
  explicit GpuColumns(const NsysCursor& row)
      : device(row.Find("deviceId")),
        context(row.Find("contextId")),
        stream(row.Find("streamId")),
        correlation(row.Find("correlationId")),
        global_pid(row.Find("globalPid")) {}

  uint32_t Track(NsysSource& source, const NsysCursor& row) const {
    const int64_t process = row.IntegerOr(global_pid, NsysTracks::kNone);
    if (process != NsysTracks::kNone) source.processes.MarkProfiled(process);
    return source.tracks.Stream(process, row.IntegerOr(device, NsysTracks::kNone),
                                row.IntegerOr(context, NsysTracks::kNone), row.IntegerOr(stream, NsysTracks::kNone));
  }
  int64_t Correlation(NsysSource& source, const NsysCursor& row) const {
    if (row.IsNull(correlation) || row.IsNull(global_pid)) return kNoValue;
    return source.processes.Correlation(row.Integer(global_pid), row.Integer(correlation)).value_or(kNoValue);
  }

  int device;
  int context;
  int stream;
  int correlation;
  int global_pid;
};

// `name_of` gives a slice its name, and may take a column into it.
template <typename NameOf>
Status ReadSlices(NsysSource& source, NsysCursor& row, std::string_view category, const NameOf& name_of) {
  const GpuColumns columns(row);
  const int start = row.Take("start");
  const int end = row.Take("end");
  const uint32_t category_number = source.batch.Text(category);
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    const int64_t correlation = columns.Correlation(source, row);
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args(correlation);
    const uint32_t name = name_of();
    if (duration_ns == kNoValue) row.AddArg(end);
    source.batch.AddSlice({*start_ns, columns.Track(source, row), name, category_number, args}, duration_ns,
                          correlation);
  }
  return row.Finish();
}

struct CopyKind {
  std::string_view label;
  std::string_view name;
};
// By their numbers, for files without labels.
constexpr CopyKind kCopyKinds[] = {
    {"Unknown", ""},
    {"Host-to-Device", "HtoD"},
    {"Device-to-Host", "DtoH"},
    {"Host-to-Array", "HtoA"},
    {"Array-to-Host", "AtoH"},
    {"Array-to-Array", "AtoA"},
    {"Array-to-Device", "AtoD"},
    {"Device-to-Array", "DtoA"},
    {"Device-to-Device", "DtoD"},
    {"Host-to-Host", "HtoH"},
    {"Peer-to-Peer", "PtoP"},
    {"Unified Host-to-Device", "UVM HtoD"},
    {"Unified Device-to-Host", "UVM DtoH"},
    {"Unified Device-to-Device", "UVM DtoD"},
};

std::string CopyName(const std::optional<std::string>& label, int64_t number) {
  if (!label) {
    const bool known = number > 0 && number < static_cast<int64_t>(std::size(kCopyKinds));
    return known ? " " + std::string(kCopyKinds[number].name) : "";
  }
  for (const CopyKind& kind : kCopyKinds) {
    if (kind.label == *label) return kind.name.empty() ? "" : " " + std::string(kind.name);
  }
  return " " + *label;
}

// As Kineto calls them.
std::string SyncName(const std::optional<std::string>& label, int64_t number) {
  struct Name {
    std::string_view label;
    std::string_view name;
  };
  constexpr Name kNames[] = {
      {"Unknown", "Unknown Sync"},    {"Event sync", "Event Sync"},     {"Stream wait sync", "Stream Wait Event"},
      {"Stream sync", "Stream Sync"}, {"Context sync", "Context Sync"},
  };
  for (const Name& name : kNames) {
    if (label == name.label) return std::string(name.name);
  }
  if (label) return *label;
  const bool known = number > 0 && number < static_cast<int64_t>(std::size(kNames));
  return std::string(kNames[known ? number : 0].name);
}

}  // namespace

Status ReadNsysKernels(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int demangled = row.Take("demangledName");
  const int base = row.Find("shortName");
  return ReadSlices(source, row, "kernel", [&] {
    const uint32_t name = row.ResolvedNumber(demangled);
    if (name != 0) return name;
    row.AddArg(demangled);
    return row.ResolvedNumber(base);
  });
}

Status ReadNsysMemcpys(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int copy = row.Find("copyKind");
  const int from = row.Find("srcKind");
  const int to = row.Find("dstKind");
  std::map<std::tuple<int64_t, int64_t, int64_t>, uint32_t> names;
  return ReadSlices(source, row, "gpu_memcpy", [&] {
    constexpr int64_t kNone = -1;
    uint32_t& name = names[{row.IntegerOr(copy, kNone), row.IntegerOr(from, kNone), row.IntegerOr(to, kNone)}];
    if (name != 0) return name;
    const std::optional<std::string> source_kind = row.Resolved(from);
    const std::optional<std::string> target_kind = row.Resolved(to);
    std::string text = "Memcpy" + CopyName(row.Resolved(copy), row.IntegerOr(copy, kNone));
    if (source_kind && target_kind) text += " (" + *source_kind + " -> " + *target_kind + ")";
    return name = source.batch.Text(text);
  });
}

Status ReadNsysMemsets(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int kind = row.Find("memKind");
  std::map<int64_t, uint32_t> names;
  return ReadSlices(source, row, "gpu_memset", [&] {
    uint32_t& name = names[row.IntegerOr(kind, -1)];
    if (name != 0) return name;
    const std::optional<std::string> label = row.Resolved(kind);
    return name = source.batch.Text("Memset" + (label ? " (" + *label + ")" : ""));
  });
}

Status ReadNsysGraphs(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int graph = row.Find("graphId");
  return ReadSlices(source, row, "cuda_graph", [&] {
    return source.batch.Text("CUDA graph" + (row.IsNull(graph) ? "" : " " + std::to_string(row.Integer(graph))));
  });
}

Status ReadNsysSynchronizations(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int type = row.Find("syncType");
  std::map<int64_t, uint32_t> names;
  return ReadSlices(source, row, "cuda_sync", [&] {
    uint32_t& name = names[row.IntegerOr(type, -1)];
    if (name != 0) return name;
    return name = source.batch.Text(SyncName(row.Resolved(type), row.IntegerOr(type, -1)));
  });
}

Status ReadNsysCudaEvents(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const GpuColumns columns(row);
  const int timestamp = row.Take("timestamp");
  const uint32_t category = source.batch.Text("cuda_event");
  const uint32_t name = source.batch.Text("Event Record");
  while (row.Next()) {
    const int64_t time_ns = row.Time(timestamp).value_or(0);
    const BatchBuilder::Event event{time_ns, columns.Track(source, row), name, category, row.Args()};
    if (time_ns != 0) {
      source.batch.AddInstant(event);
    } else {
      source.batch.AddMetadata(event);
    }
  }
  return row.Finish();
}

}  // namespace kprof
