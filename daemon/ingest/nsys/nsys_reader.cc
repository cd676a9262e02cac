#include "daemon/ingest/nsys/nsys_reader.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/nsys/nsys_cursor.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_facts.h"
#include "daemon/ingest/nsys/nsys_gpu_events.h"
#include "daemon/ingest/nsys/nsys_graph_nodes.h"
#include "daemon/ingest/nsys/nsys_nvtx_events.h"
#include "daemon/ingest/nsys/nsys_thread_events.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

std::string_view FirstOf(const NsysTable& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (table.Has(name)) return name;
  }
  return {};
}

std::string_view StartOf(const NsysTable& table) {
  return FirstOf(table, {"start", "timestamp", "startTime", "startedAt", "rawTimestamp"});
}

std::string_view EndOf(const NsysTable& table) {
  return FirstOf(table, {"end", "endTime", "endedAt"});
}

std::string_view NameOf(const NsysTable& table) {
  return FirstOf(table, {"nameId", "name", "textId", "text"});
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return text;
}

// The tool's messages about its own work.
Status ReadNsysDiagnostics(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int timestamp = row.Take("timestamp");
  const int text = row.Take("text");
  const uint32_t category = source.batch.Text("diagnostic");
  std::optional<uint32_t> track;  // there is none without events
  while (row.Next()) {
    const std::optional<int64_t> time_ns = row.Time(timestamp);
    if (!time_ns) {
      row.SkipUntimed();
      continue;
    }
    if (!track) track = source.tracks.OfProcess(NsysTracks::kNone, "other", "diagnostics");
    source.batch.AddInstant({*time_ns, *track, row.ResolvedNumber(text), category, row.Args()});
  }
  return row.Finish();
}

// With a start, a timestamp or the like, and maybe an end.
bool HasNsysTimes(const NsysTable& table) {
  return !StartOf(table).empty();
}

// Reads a table that nobody here knows, but that has the times of events. All of a row is kept, under the table's name,
// on a track that its columns tell (a stream, a thread, a process). REQUIRES: HasNsysTimes(table).
Status ReadNsysOtherEvents(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take(StartOf(table));
  const int end = EndOf(table).empty() ? -1 : row.Take(EndOf(table));
  const int name_column = NameOf(table).empty() ? -1 : row.Find(NameOf(table));
  const int global_tid = row.Find("globalTid");
  const int global_pid = row.Find("globalPid");
  const int device = row.Find("deviceId");
  const int context = row.Find("contextId");
  const int stream = row.Find("streamId");
  const int correlation_id = row.Find("correlationId");
  const std::string lower = LowerCase(table.name);
  const uint32_t category = source.batch.Text(lower);
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    const int process_column = row.IsNull(global_tid) ? global_pid : global_tid;
    const int64_t process = row.IntegerOr(process_column, NsysTracks::kNone);
    int64_t correlation = kNoValue;
    if (process != NsysTracks::kNone && !row.IsNull(correlation_id))
      correlation = source.processes.Correlation(process, row.Integer(correlation_id)).value_or(kNoValue);
    uint32_t track = 0;
    if (!row.IsNull(stream) && !row.IsNull(device)) {
      track = source.tracks.Stream(process, row.Integer(device), row.IntegerOr(context, NsysTracks::kNone),
                                   row.Integer(stream));
    } else if (!row.IsNull(global_tid)) {
      // Nobody promises that they nest with what else is on the thread.
      track = source.tracks.BesideThread(process, lower);
    } else {
      track = source.tracks.OfProcess(process, "other", lower);
    }
    uint32_t name = row.ResolvedNumber(name_column);
    if (name == 0) name = category;
    const int64_t duration_ns = row.Duration(*start_ns, end);
    std::vector<EventArg>& args = row.Args(end < 0 ? kNoValue : correlation);
    if (duration_ns == kNoValue) row.AddArg(end);
    if (end < 0) {
      source.batch.AddInstant({*start_ns, track, name, category, args});
    } else {
      source.batch.AddSlice({*start_ns, track, name, category, args}, duration_ns, correlation);
    }
  }
  return row.Finish();
}

struct EventTable {
  std::string_view name;
  Status (*read)(NsysSource& source, const NsysTable& table);
};

// In this order: what only a profiled process has comes first, as it says whose names may be told.
constexpr EventTable kEventTables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", ReadNsysKernels},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", ReadNsysMemcpys},
    {"CUPTI_ACTIVITY_KIND_MEMSET", ReadNsysMemsets},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", ReadNsysGraphs},
    {"CUDA_GRAPH_NODE_EVENTS", ReadNsysGraphNodes},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", ReadNsysSynchronizations},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", ReadNsysCudaEvents},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", ReadNsysApiCalls},
    {"NVTX_EVENTS", ReadNsysNvtx},
    {"OSRT_API", ReadNsysOsCalls},
    {"OSRT_FILE_ACCESS_EVENTS", ReadNsysFileAccesses},
    {"PROFILER_OVERHEAD", ReadNsysOverhead},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", ReadNsysOverhead},
    {"GPU_METRICS", ReadNsysGpuMetrics},
    {"GENERIC_EVENTS", ReadNsysGenericEvents},
    {"COMPOSITE_EVENTS", ReadNsysSamples},
    {"SCHED_EVENTS", ReadNsysSwitches},
    {"DIAGNOSTIC_EVENT", ReadNsysDiagnostics},
};

struct Plan {
  std::vector<std::pair<const NsysTable*, const EventTable*>> known;
  std::vector<const NsysTable*> other;
  std::vector<const NsysTable*> unread;
  std::vector<const NsysTable*> secret;  // by their names, of an environment or a command line
};

Plan PlanOf(const NsysDatabase& database) {
  Plan plan;
  for (const EventTable& event_table : kEventTables) {
    if (const NsysTable* table = database.Find(event_table.name)) plan.known.emplace_back(table, &event_table);
  }
  for (const NsysTable& table : database.tables()) {
    const auto is_it = [&](const EventTable& known) { return known.name == table.name; };
    if (IsNsysSideTable(table.name) || std::any_of(std::begin(kEventTables), std::end(kEventTables), is_it)) continue;
    const bool is_secret = HasEnvironmentWord(table.name) || IsPersonalName(table.name);
    (is_secret ? plan.secret : HasNsysTimes(table) ? plan.other : plan.unread).push_back(&table);
  }
  return plan;
}

Status CheckExport(const NsysDatabase& database, const Plan& plan) {
  const bool has_meta = database.Find("META_DATA_EXPORT") != nullptr;
  const bool has_strings = database.Find("StringIds") != nullptr;
  if (has_meta || (has_strings && !plan.known.empty())) return OkStatus();
  return Fail(ErrorCode::kNotFound, "read it as an Nsight Systems export",
              has_strings ? "it has neither the table META_DATA_EXPORT nor one of events"
                          : "it has no tables META_DATA_EXPORT and StringIds",
              "export it with nsys export --type sqlite");
}

std::string NamesOf(const std::vector<const NsysTable*>& tables) {
  constexpr size_t kMostNamed = 20;
  std::string names;
  for (size_t i = 0; i < std::min(tables.size(), kMostNamed); ++i) names += (i == 0 ? "" : ", ") + tables[i]->name;
  return tables.size() > kMostNamed ? names + ", and " + std::to_string(tables.size() - kMostNamed) + " more" : names;
}

// A file that cannot be read any more says nothing of its tables.
Status ReadTables(NsysSource& source, const Plan& plan) {
  for (const auto& [table, event_table] : plan.known) {
    RETURN_IF_ERROR(event_table->read(source, *table));
    RETURN_IF_ERROR(source.database.file_status());
  }
  std::string unknown;  // of which nothing is lost: no reason to warn
  for (const NsysTable* table : plan.other) {
    const int64_t before = source.batch.events();
    RETURN_IF_ERROR(ReadNsysOtherEvents(source, *table));
    RETURN_IF_ERROR(source.database.file_status());
    unknown += unknown.empty() ? '{' : ',';
    AppendJsonString(unknown, table->name);
    unknown += ':' + std::to_string(source.batch.events() - before);
  }
  return unknown.empty() ? OkStatus() : source.batch.sink().SetFact("source.unknown_tables", unknown + '}');
}

void WarnOfRest(NsysSource& source, const Plan& plan) {
  BatchSink& sink = source.batch.sink();
  if (!plan.unread.empty()) sink.Warn("tables without times were not read: " + NamesOf(plan.unread));
  if (source.strings.failed() > 0) {
    sink.Warn("StringIds: damaged, " + std::to_string(source.strings.failed()) +
              " texts could not be read; their numbers stand in their places");
  }
  for (const auto& [table, chains] : source.callchains) {
    if (chains->failed() == 0) continue;
    sink.Warn(table + ": damaged, " + std::to_string(chains->failed()) + " call chains could not be read");
  }
}

}  // namespace

bool LooksLikeNsys(std::string_view first_bytes) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return first_bytes.starts_with(kMagic);
}

Status ReadNsys(const SourceFile& file, BatchSink& sink) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NsysDatabase> database, NsysDatabase::Open(file));
  const Plan plan = PlanOf(*database);
  RETURN_IF_ERROR(CheckExport(*database, plan));
  if (database->cut_off_bytes() > 0) {
    sink.Warn("the file ends at byte " + std::to_string(file.size_bytes()) + ", " +
              std::to_string(database->cut_off_bytes()) + " bytes are missing");
  }
  for (const std::string& left_out : database->left_out()) sink.Warn(left_out);
  NsysSource source(*database, sink, file.size_bytes());
  for (const auto& [table, event_table] : plan.known) source.rows += table->last_row;
  for (const NsysTable* table : plan.other) source.rows += table->last_row;
  RETURN_IF_ERROR(SetNsysFacts(source));
  RETURN_IF_ERROR(ReadTables(source, plan));
  RETURN_IF_ERROR(source.batch.Give());
  if (source.batch.changed_texts() > 0)
    RETURN_IF_ERROR(sink.SetFact("left_out_of_texts", source.batch.changed_texts()));
  if (!plan.secret.empty()) RETURN_IF_ERROR(sink.SetFact("left_out_tables", NamesOf(plan.secret)));
  WarnOfRest(source, plan);
  return sink.Progress(file.size_bytes(), source.batch.events());
}

}  // namespace kprof
