#include "daemon/ingest/nsys/nsys_other_events.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "daemon/ingest/nsys/nsys_cursor.h"

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

}  // namespace

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

bool HasNsysTimes(const NsysTable& table) {
  return !StartOf(table).empty();
}

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

}  // namespace kprof
