#include "storage/catalog/run_details.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {
namespace {

constexpr const char* kInsertRunDevice = "INSERT INTO run_devices (run_id, position, device) VALUES (?1, ?2, ?3)";
constexpr const char* kSelectRunDevices = "SELECT device FROM run_devices WHERE run_id = ?1 ORDER BY position";
constexpr const char* kInsertRunLabel = "INSERT INTO run_labels (run_id, key, value) VALUES (?1, ?2, ?3)";
constexpr const char* kSelectRunLabels = "SELECT key, value FROM run_labels WHERE run_id = ?1";
constexpr const char* kInsertRunTrust =
    "INSERT INTO run_trust (run_id, position, code, message) VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kSelectRunTrust = "SELECT code, message FROM run_trust WHERE run_id = ?1 ORDER BY position";
constexpr const char* kDeleteRunTrust = "DELETE FROM run_trust WHERE run_id = ?1";
constexpr const char* kInsertArtifact =
    "INSERT INTO artifacts (run_id, name, size_bytes, sha256, path) VALUES (?1, ?2, ?3, ?4, nullif(?5, ''))";
constexpr const char* kSelectArtifacts =
    "SELECT name, size_bytes, sha256, path FROM artifacts WHERE run_id = ?1 ORDER BY name";
constexpr const char* kDeleteArtifacts = "DELETE FROM artifacts WHERE run_id = ?1";
// Deleted and inserted rather than replaced: REPLACE fires no delete trigger, and facts would miscount.
constexpr const char* kDeleteArtifact = "DELETE FROM artifacts WHERE run_id = ?1 AND name = ?2";
constexpr const char* kInsertMetric =
    "INSERT INTO metrics (run_id, position, kernel, launch, name, value, unit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
constexpr const char* kSelectMetrics =
    "SELECT kernel, launch, name, value, unit FROM metrics WHERE run_id = ?1 AND position < 1000000 ORDER BY position";
constexpr const char* kDeleteMetrics = "DELETE FROM metrics WHERE run_id = ?1 AND position < 1000000";
constexpr const char* kDeleteKernelMetrics = "DELETE FROM metrics WHERE run_id = ?1 AND position >= 1000000";
static_assert(kFirstKernelMetric == 1'000'000);
constexpr const char* kInsertVerdict =
    "INSERT INTO verdicts (run_id, name, ratio, ci_low, ci_high, reasons) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kSelectVerdict = "SELECT name, ratio, ci_low, ci_high, reasons FROM verdicts WHERE run_id = ?1";
constexpr const char* kDeleteVerdict = "DELETE FROM verdicts WHERE run_id = ?1";
constexpr const char* kInsertTracePart = R"sql(
INSERT INTO trace_parts (run_id, position, name, uid, rank, source_name, source_format, source_bytes, source_hash,
                         source_artifact, asked_format, asked_rank, bytes, slices, instants, counters, flows, tracks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
)sql";
// In the order in which ReadTrace takes them.
constexpr const char* kSelectTrace = R"sql(
SELECT name, rank, source_name, source_format, source_bytes, source_hash, source_artifact, asked_format, asked_rank, bytes,
       slices, instants, counters, flows, tracks
FROM trace_parts WHERE run_id = ?1 ORDER BY position
)sql";
constexpr const char* kDeleteTrace = "DELETE FROM trace_parts WHERE run_id = ?1";

Status InsertDevices(Db& db, const RunRow& run) {
  if (run.devices.empty()) return OkStatus();
  Statement insert(db, kInsertRunDevice);
  int64_t position = 0;
  for (const std::string& device : run.devices) {
    insert.BindText(1, run.id).Bind(2, position++).BindText(3, device);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertLabels(Db& db, const RunRow& run) {
  if (run.labels.empty()) return OkStatus();
  Statement insert(db, kInsertRunLabel);
  for (const auto& [key, value] : run.labels) {
    insert.BindText(1, run.id).BindText(2, key).BindText(3, value);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertArtifacts(Db& db, const std::string& run_id, const std::vector<ArtifactRow>& artifacts) {
  if (artifacts.empty()) return OkStatus();
  Statement insert(db, kInsertArtifact);
  for (const ArtifactRow& artifact : artifacts) {
    insert.BindText(1, run_id).BindText(2, artifact.name).Bind(3, artifact.size_bytes).BindText(4, artifact.sha256);
    insert.BindText(5, artifact.path);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertTrust(Db& db, const std::string& run_id, const std::vector<TrustReason>& trust) {
  if (trust.empty()) return OkStatus();
  Statement insert(db, kInsertRunTrust);
  int64_t position = 0;
  for (const TrustReason& reason : trust) {
    insert.BindText(1, run_id).Bind(2, position++).BindText(3, reason.code).BindText(4, reason.message);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertMetrics(Db& db, const std::string& run_id, const std::vector<MetricRow>& metrics, int64_t position = 0) {
  if (metrics.empty()) return OkStatus();
  Statement insert(db, kInsertMetric);
  for (const MetricRow& metric : metrics) {
    insert.BindText(1, run_id).Bind(2, position++).BindText(3, metric.kernel).BindMaybe(4, metric.launch);
    insert.BindText(5, metric.name).Bind(6, metric.value).BindText(7, metric.unit);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Result<std::vector<TrustReason>> ReadTrust(Statement& select, const std::string& run_id) {
  std::vector<TrustReason> trust;
  select.BindText(1, run_id);
  while (select.Next()) trust.push_back({std::string(select.Text(0)), std::string(select.Text(1))});
  RETURN_IF_ERROR(select.status());
  return trust;
}

Result<std::vector<ArtifactRow>> ReadArtifacts(Statement& select, const std::string& run_id) {
  std::vector<ArtifactRow> artifacts;
  select.BindText(1, run_id);
  while (select.Next()) {
    artifacts.push_back(
        {std::string(select.Text(0)), select.Integer(1), std::string(select.Text(2)), std::string(select.Text(3))});
  }
  RETURN_IF_ERROR(select.status());
  return artifacts;
}

Result<std::vector<MetricRow>> ReadMetrics(Statement& select, const std::string& run_id) {
  std::vector<MetricRow> metrics;
  select.BindText(1, run_id);
  while (select.Next()) {
    MetricRow metric;
    metric.kernel = select.Text(0);
    metric.launch = select.MaybeInteger(1);
    metric.name = select.Text(2);
    metric.value = select.IsNull(3) ? std::numeric_limits<double>::quiet_NaN() : select.Real(3);
    metric.unit = select.Text(4);
    metrics.push_back(std::move(metric));
  }
  RETURN_IF_ERROR(select.status());
  return metrics;
}

Status InsertVerdict(Db& db, const std::string& run_id, const std::optional<RunVerdict>& verdict) {
  if (!verdict) return OkStatus();
  Statement insert(db, kInsertVerdict);
  std::string reasons;
  for (const std::string& reason : verdict->reasons) reasons += (reasons.empty() ? "" : ",") + reason;
  const auto bind = [&insert](int index, std::optional<double> value) {
    value ? insert.Bind(index, *value) : insert.BindNull(index);
  };
  insert.BindText(1, run_id).BindText(2, verdict->name).BindText(6, reasons);
  bind(3, verdict->ratio);
  bind(4, verdict->ci_low);
  bind(5, verdict->ci_high);
  return insert.Run();
}

Result<std::optional<RunVerdict>> ReadVerdict(Statement& select, const std::string& run_id) {
  std::optional<RunVerdict> verdict;
  select.BindText(1, run_id);
  while (select.Next()) {
    const auto real = [&select](int column) {
      return select.IsNull(column) ? std::optional<double>() : std::optional<double>(select.Real(column));
    };
    verdict.emplace();
    verdict->name = select.Text(0);
    verdict->ratio = real(1);
    verdict->ci_low = real(2);
    verdict->ci_high = real(3);
    std::string_view reasons = select.Text(4);
    while (!reasons.empty()) {
      const std::string_view one = reasons.substr(0, reasons.find(','));
      verdict->reasons.emplace_back(one);
      reasons.remove_prefix(std::min(one.size() + 1, reasons.size()));
    }
  }
  RETURN_IF_ERROR(select.status());
  return verdict;
}

Status InsertTrace(Db& db, const RunRow& run) {
  if (run.trace.empty()) return OkStatus();
  Statement insert(db, kInsertTracePart);
  int64_t position = 0;
  for (const TracePartRow& part : run.trace) {
    insert.BindText(1, run.id)
        .Bind(2, position++)
        .BindText(3, part.name)
        .Bind(4, int64_t{run.uid})
        .BindMaybe(5, part.rank)
        .BindBytes(6, part.source_name)
        .BindText(7, part.source_format)
        .Bind(8, part.source_bytes)
        .BindText(9, part.source_hash)
        .BindText(11, part.asked_format)
        .BindMaybe(12, part.asked_rank)
        .Bind(13, part.bytes)
        .Bind(14, part.slices)
        .Bind(15, part.instants)
        .Bind(16, part.counters)
        .Bind(17, part.flows)
        .Bind(18, part.tracks);
    part.source_artifact.empty() ? insert.BindNull(10) : insert.BindText(10, part.source_artifact);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Result<std::vector<TracePartRow>> ReadTrace(Statement& select, const std::string& run_id) {
  std::vector<TracePartRow> parts;
  select.BindText(1, run_id);
  while (select.Next()) {
    TracePartRow part;
    part.name = select.Text(0);
    part.rank = select.MaybeInteger(1);
    part.source_name = select.Bytes(2);
    part.source_format = select.Text(3);
    part.source_bytes = select.Integer(4);
    part.source_hash = select.Text(5);
    part.source_artifact = select.Text(6);
    part.asked_format = select.Text(7);
    part.asked_rank = select.MaybeInteger(8);
    part.bytes = select.Integer(9);
    part.slices = select.Integer(10);
    part.instants = select.Integer(11);
    part.counters = select.Integer(12);
    part.flows = select.Integer(13);
    part.tracks = select.Integer(14);
    parts.push_back(std::move(part));
  }
  RETURN_IF_ERROR(select.status());
  return parts;
}

}  // namespace

RunDetailsReader::RunDetailsReader(Db& db)
    : devices_(db, kSelectRunDevices),
      labels_(db, kSelectRunLabels),
      trust_(db, kSelectRunTrust),
      artifacts_(db, kSelectArtifacts),
      metrics_(db, kSelectMetrics),
      verdict_(db, kSelectVerdict),
      trace_(db, kSelectTrace) {}

Status RunDetailsReader::Read(RunRow& run) {
  devices_.BindText(1, run.id);
  while (devices_.Next()) run.devices.emplace_back(devices_.Text(0));
  RETURN_IF_ERROR(devices_.status());
  labels_.BindText(1, run.id);
  while (labels_.Next()) run.labels.emplace(labels_.Text(0), labels_.Text(1));
  RETURN_IF_ERROR(labels_.status());
  ASSIGN_OR_RETURN(run.trust, ReadTrust(trust_, run.id));
  ASSIGN_OR_RETURN(run.artifacts, ReadArtifacts(artifacts_, run.id));
  ASSIGN_OR_RETURN(run.metrics, ReadMetrics(metrics_, run.id));
  ASSIGN_OR_RETURN(run.verdict, ReadVerdict(verdict_, run.id));
  ASSIGN_OR_RETURN(run.trace, ReadTrace(trace_, run.id));
  return OkStatus();
}

Status InsertRunDetails(Db& db, const RunRow& run) {
  RETURN_IF_ERROR(InsertDevices(db, run));
  RETURN_IF_ERROR(InsertLabels(db, run));
  RETURN_IF_ERROR(InsertTrust(db, run.id, run.trust));
  RETURN_IF_ERROR(InsertArtifacts(db, run.id, run.artifacts));
  RETURN_IF_ERROR(InsertMetrics(db, run.id, run.metrics));
  RETURN_IF_ERROR(InsertVerdict(db, run.id, run.verdict));
  return InsertTrace(db, run);
}

// Most updates change none of these, and reading is cheaper than writing.
Status UpdateRunDetails(Db& db, const RunRow& run) {
  Statement select_trust(db, kSelectRunTrust);
  ASSIGN_OR_RETURN(std::vector<TrustReason> trust, ReadTrust(select_trust, run.id));
  if (trust != run.trust) {
    RETURN_IF_ERROR(Statement(db, kDeleteRunTrust).BindText(1, run.id).Run());
    RETURN_IF_ERROR(InsertTrust(db, run.id, run.trust));
  }
  Statement select_artifacts(db, kSelectArtifacts);
  ASSIGN_OR_RETURN(std::vector<ArtifactRow> artifacts, ReadArtifacts(select_artifacts, run.id));
  if (artifacts != run.artifacts) {
    RETURN_IF_ERROR(Statement(db, kDeleteArtifacts).BindText(1, run.id).Run());
    RETURN_IF_ERROR(InsertArtifacts(db, run.id, run.artifacts));
  }
  Statement select_metrics(db, kSelectMetrics);
  ASSIGN_OR_RETURN(std::vector<MetricRow> metrics, ReadMetrics(select_metrics, run.id));
  if (metrics != run.metrics) {
    RETURN_IF_ERROR(Statement(db, kDeleteMetrics).BindText(1, run.id).Run());
    RETURN_IF_ERROR(InsertMetrics(db, run.id, run.metrics));
  }
  Statement select_verdict(db, kSelectVerdict);
  ASSIGN_OR_RETURN(const std::optional<RunVerdict> verdict, ReadVerdict(select_verdict, run.id));
  if (verdict != run.verdict) {
    RETURN_IF_ERROR(Statement(db, kDeleteVerdict).BindText(1, run.id).Run());
    RETURN_IF_ERROR(InsertVerdict(db, run.id, run.verdict));
  }
  Statement select_trace(db, kSelectTrace);
  ASSIGN_OR_RETURN(std::vector<TracePartRow> trace, ReadTrace(select_trace, run.id));
  if (trace != run.trace) {
    RETURN_IF_ERROR(Statement(db, kDeleteTrace).BindText(1, run.id).Run());
    RETURN_IF_ERROR(InsertTrace(db, run));
  }
  return OkStatus();
}

Status PutKernelMetrics(Db& db, const std::string& run_id, const std::vector<MetricRow>& metrics) {
  RETURN_IF_ERROR(Statement(db, kDeleteKernelMetrics).BindText(1, run_id).Run());
  return InsertMetrics(db, run_id, metrics, kFirstKernelMetric);
}

Status PutArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact) {
  RETURN_IF_ERROR(Statement(db, kDeleteArtifact).BindText(1, run_id).BindText(2, artifact.name).Run());
  return InsertArtifacts(db, run_id, {artifact});
}

}  // namespace kprof
