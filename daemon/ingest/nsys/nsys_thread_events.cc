#include "daemon/ingest/nsys/nsys_thread_events.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {
namespace {

constexpr int64_t kRuntimeClass = 0;
constexpr int64_t kDriverClass = 1;
constexpr size_t kMostCachedCalls = 1 << 16;

bool IsDriverName(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

struct ApiName {
  uint32_t number = 0;
  bool is_cut = false;  // there is more of it in the file
  bool is_driver = false;
};

}  // namespace

std::string_view WithoutApiVersion(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits == name.npos || digits + 1 == name.size() || digits < 2) return name;
  return name.substr(digits - 1, 2) == "_v" ? name.substr(0, digits - 1) : name;
}

Status ReadNsysApiCalls(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int end = row.Take("end");
  const int name_id = row.Take("nameId");
  const int event_class = row.Find("eventClass");
  const int global_tid = row.Find("globalTid");
  const int correlation_id = row.Find("correlationId");
  const uint32_t runtime = source.batch.Text("cuda_runtime");
  const uint32_t driver = source.batch.Text("cuda_driver");
  std::unordered_map<int64_t, ApiName> names;
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    if (names.size() >= kMostCachedCalls) names.clear();
    const auto [found, is_new] = names.try_emplace(row.Integer(name_id));
    ApiName& name = found->second;
    if (is_new) {
      const std::string full = row.Resolved(name_id).value_or("");
      const std::string_view cut = WithoutApiVersion(full);
      name = {source.batch.Text(cut), cut.size() < full.size() || full.empty(), IsDriverName(full)};
    }
    int64_t correlation = kNoValue;
    uint32_t track = 0;
    if (row.IsNull(global_tid)) {
      track = source.tracks.OfProcess(NsysTracks::kNone, "other", "CUDA API");
    } else {
      const int64_t thread = row.Integer(global_tid);
      source.processes.MarkProfiled(thread);
      track = source.tracks.Thread(thread);
      if (!row.IsNull(correlation_id))
        correlation = source.processes.Correlation(thread, row.Integer(correlation_id)).value_or(kNoValue);
    }
    const int64_t kind = row.IntegerOr(event_class, -1);
    const bool is_driver = kind == kDriverClass || (kind != kRuntimeClass && name.is_driver);
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args(correlation);
    if (name.is_cut) row.AddArg(name_id);
    if (duration_ns == kNoValue) row.AddArg(end);
    source.batch.AddSlice({*start_ns, track, name.number, is_driver ? driver : runtime, args}, duration_ns,
                          correlation);
  }
  return row.Finish();
}

Status ReadNsysOverhead(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int end = row.Take("end");
  const int name_id = row.Find("nameId");
  const int type = row.Find("overheadType");
  const int global_tid = row.Find("globalTid");
  const uint32_t category = source.batch.Text("overhead");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    uint32_t name = row.ResolvedNumber(name_id);
    if (name == 0) name = row.ResolvedNumber(type);
    uint32_t track = 0;
    if (row.IsNull(global_tid)) {
      track = source.tracks.OfProcess(NsysTracks::kNone, "other", "overhead");
    } else {
      source.processes.MarkProfiled(row.Integer(global_tid));
      track = source.tracks.BesideThread(row.Integer(global_tid), "overhead");
    }
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args();
    if (duration_ns == kNoValue) row.AddArg(end);
    source.batch.AddSlice({*start_ns, track, name, category, args}, duration_ns, kNoValue);
  }
  return row.Finish();
}

namespace {

constexpr size_t kMostFiles = 1 << 20;

struct AccessedFile {
  int64_t pid = 0;
  int64_t opened_ns = 0;
  int64_t closed_ns = 0;
  uint32_t path = 0;  // a string's number
};

std::unordered_map<int64_t, AccessedFile> ReadFiles(NsysSource& source) {
  std::unordered_map<int64_t, AccessedFile> files;
  const NsysTable* table = source.database.Find("OSRT_FILE_ACCESS_DESCRIPTORS");
  if (table == nullptr) return files;
  const int id = table->Find("fileAccessId");
  const int pid = table->Find("processId");
  const int opened = table->Find("openedAt");
  const int closed = table->Find("closedAt");
  const int path = table->Find("filePath");
  if (id < 0 || pid < 0 || opened < 0 || closed < 0 || path < 0) return files;
  NsysQuery rows = source.database.Scan(*table);
  while (files.size() < kMostFiles && rows.Next()) {
    files[rows.Integer(id)] = {rows.Integer(pid), rows.Integer(opened), rows.Integer(closed),
                               source.batch.Text(rows.Text(path))};
  }
  return files;
}

uint32_t ThreadTrack(NsysSource& source, const NsysCursor& row, int global_tid) {
  return row.IsNull(global_tid) ? source.tracks.OfProcess(NsysTracks::kNone, "other", "threads")
                                : source.tracks.Thread(row.Integer(global_tid));
}

}  // namespace

Status ReadNsysOsCalls(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int end = row.Take("end");
  const int name_id = row.Take("nameId");
  const int global_tid = row.Find("globalTid");
  const uint32_t category = source.batch.Text("os_runtime");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    uint32_t track = 0;
    if (row.IsNull(global_tid)) {
      track = source.tracks.OfProcess(NsysTracks::kNone, "other", "OS runtime");
    } else {
      source.processes.MarkProfiled(row.Integer(global_tid));
      track = source.tracks.BesideThread(row.Integer(global_tid), "OS runtime");
    }
    const uint32_t name = row.ResolvedNumber(name_id);
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args();
    if (name == 0) row.AddArg(name_id);
    if (duration_ns == kNoValue) row.AddArg(end);
    source.batch.AddSlice({*start_ns, track, name, category, args}, duration_ns, kNoValue);
  }
  return row.Finish();
}

Status ReadNsysFileAccesses(NsysSource& source, const NsysTable& table) {
  const std::unordered_map<int64_t, AccessedFile> files = ReadFiles(source);
  NsysCursor row(source, table);
  const int start = row.Take("startedAt");
  const int end = row.Take("endedAt");
  const int name_id = row.Take("apiCallId");
  const int file_id = row.Find("fileAccessId");
  const int tid = row.Find("threadId");
  const uint32_t category = source.batch.Text("os_file");
  const uint32_t path_key = source.batch.Text("filePath");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    const auto file = files.find(row.Integer(file_id));
    const int64_t pid = file == files.end() ? row.Integer(tid) : file->second.pid;
    const int64_t thread = source.processes.GlobalOfPid(pid) | (row.Integer(tid) & 0xffffff);
    source.processes.MarkProfiled(thread);
    const uint32_t name = row.ResolvedNumber(name_id);
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args();
    if (name == 0) row.AddArg(name_id);
    if (duration_ns == kNoValue) row.AddArg(end);
    if (file != files.end()) {
      args.push_back({path_key, ArgType::kString, file->second.path});
      row.AddIntegerArg("processId", file->second.pid);
      row.AddIntegerArg("openedAt", file->second.opened_ns);
      row.AddIntegerArg("closedAt", file->second.closed_ns);
    }
    source.batch.AddSlice({*start_ns, source.tracks.BesideThread(thread, "files"), name, category, args}, duration_ns,
                          kNoValue);
  }
  return row.Finish();
}

Status ReadNsysSamples(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int id = row.Find("id");
  const int global_tid = row.Find("globalTid");
  const uint32_t category = source.batch.Text("cpu_sample");
  const uint32_t unknown = source.batch.Text("sample");
  const uint32_t chain_key = source.batch.Text("callchain");
  NsysCallchains& chains = source.CallchainsOf("SAMPLING_CALLCHAINS");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    uint32_t name = unknown;
    std::vector<EventArg>& args = row.Args();
    if (const auto chain = row.IsNull(id) ? std::nullopt : chains.Find(row.Integer(id))) {
      name = source.strings.Number(chain->innermost).value_or(unknown);
      args.push_back({chain_key, ArgType::kJson, source.batch.Json(chain->json)});
    }
    source.batch.AddInstant({*start_ns, ThreadTrack(source, row, global_tid), name, category, args});
  }
  return row.Finish();
}

Status ReadNsysSwitches(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int is_in = row.Find("isSchedIn");
  const int global_tid = row.Find("globalTid");
  const uint32_t category = source.batch.Text("sched");
  const uint32_t in = source.batch.Text("scheduled in");
  const uint32_t out = source.batch.Text("scheduled out");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    source.batch.AddInstant(
        {*start_ns, ThreadTrack(source, row, global_tid), row.Integer(is_in) != 0 ? in : out, category, row.Args()});
  }
  return row.Finish();
}

}  // namespace kprof
