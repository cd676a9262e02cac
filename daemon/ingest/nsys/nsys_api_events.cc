#include "daemon/ingest/nsys/nsys_api_events.h"

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

}  // namespace kprof
