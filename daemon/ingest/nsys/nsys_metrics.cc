#include "daemon/ingest/nsys/nsys_metrics.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
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

}  // namespace kprof
