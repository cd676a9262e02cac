#include "daemon/ingest/nsys/nsys_gpu_events.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {
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
