#include "storage/catalog/run_table.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "storage/statement.h"

namespace kprof {
namespace {

// --- What is stored of lists of strings: each followed by a zero byte.

std::string Joined(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& s : strings) bytes.append(s).push_back('\0');
  return bytes;
}

std::vector<std::string> Split(std::string_view bytes) {
  std::vector<std::string> strings;
  while (!bytes.empty()) {
    size_t end = std::min(bytes.find('\0'), bytes.size());
    strings.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return strings;
}

std::string JoinedEnvironment(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string bytes;
  for (const auto& [name, value] : environment) bytes.append(name).append("=").append(value).push_back('\0');
  return bytes;
}

std::vector<std::pair<std::string, std::string>> SplitEnvironment(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (const std::string& entry : Split(bytes)) {
    size_t equals = std::min(entry.find('='), entry.size());
    environment.emplace_back(entry.substr(0, equals), entry.substr(std::min(equals + 1, entry.size())));
  }
  return environment;
}

bool HasZeroByte(std::string_view s) {
  return s.find('\0') != s.npos;
}

Status CheckStorable(const RunRow& run) {
  for (const std::string& argument : run.argv) {
    if (HasZeroByte(argument)) return Fail(ErrorCode::kUsage, "insert run " + run.id, "an argument has a zero byte");
  }
  for (const auto& [name, value] : run.environment) {
    if (HasZeroByte(name) || HasZeroByte(value) || name.find('=') != name.npos) {
      return Fail(ErrorCode::kUsage, "insert run " + run.id,
                  "an environment variable has a zero byte or '=' in its name");
    }
  }
  return OkStatus();
}

// --- Rows.

constexpr const char* kInsertRun = R"sql(
INSERT INTO runs (id, uid, tool, state, pinned, shared, attached, idempotency_key, timeout_ms, queue_timeout_ms, queued_ns,
                  started_ns, ended_ns, exit_code, signal, error_code, error_message, error_remedy, stdout_bytes,
                  stdout_dropped_bytes, stderr_bytes, stderr_dropped_bytes, cwd, argv, environment)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
)sql";

// Its parameters have the numbers they have in kInsertRun, so that BindChanging serves both.
constexpr const char* kUpdateRun = R"sql(
UPDATE runs SET state = ?4, shared = ?6, attached = ?7, queued_ns = ?11, started_ns = ?12, ended_ns = ?13, exit_code = ?14,
  signal = ?15, error_code = ?16, error_message = ?17, error_remedy = ?18, stdout_bytes = ?19, stdout_dropped_bytes = ?20,
  stderr_bytes = ?21, stderr_dropped_bytes = ?22
WHERE id = ?1
)sql";

// In the order in which RunReader takes them.
constexpr const char* kSelectRun = R"sql(
SELECT id, uid, tool, state, pinned, shared, attached, idempotency_key, timeout_ms, queue_timeout_ms, queued_ns, started_ns,
       ended_ns, exit_code, signal, error_code, error_message, error_remedy, stdout_bytes, stdout_dropped_bytes,
       stderr_bytes, stderr_dropped_bytes, cwd, argv, environment
FROM runs WHERE id = ?1
)sql";

constexpr const char* kInsertDevice = "INSERT INTO run_devices (run_id, position, device) VALUES (?1, ?2, ?3)";
constexpr const char* kSelectDevices = "SELECT device FROM run_devices WHERE run_id = ?1 ORDER BY position";
constexpr const char* kInsertLabel = "INSERT INTO run_labels (run_id, key, value) VALUES (?1, ?2, ?3)";
constexpr const char* kSelectLabels = "SELECT key, value FROM run_labels WHERE run_id = ?1";
constexpr const char* kInsertTrust = "INSERT INTO run_trust (run_id, position, code, message) VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kSelectTrust = "SELECT code, message FROM run_trust WHERE run_id = ?1 ORDER BY position";
constexpr const char* kDeleteTrust = "DELETE FROM run_trust WHERE run_id = ?1";
constexpr const char* kInsertArtifact =
    "INSERT INTO artifacts (run_id, name, size_bytes, sha256) VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kSelectArtifacts =
    "SELECT name, size_bytes, sha256 FROM artifacts WHERE run_id = ?1 ORDER BY name";
constexpr const char* kDeleteArtifacts = "DELETE FROM artifacts WHERE run_id = ?1";
// Deleted and inserted rather than replaced: REPLACE fires no delete trigger, and facts would miscount.
constexpr const char* kDeleteArtifact = "DELETE FROM artifacts WHERE run_id = ?1 AND name = ?2";
constexpr const char* kInsertMetric =
    "INSERT INTO metrics (run_id, position, kernel, launch, name, value, unit) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
constexpr const char* kSelectMetrics =
    "SELECT kernel, launch, name, value, unit FROM metrics WHERE run_id = ?1 ORDER BY position";
constexpr const char* kDeleteMetrics = "DELETE FROM metrics WHERE run_id = ?1";

void BindChanging(Statement& statement, const RunRow& run) {
  statement.BindText(1, run.id)
      .Bind(4, static_cast<int64_t>(run.state))
      .Bind(6, int64_t{run.shared})
      .Bind(7, int64_t{run.attached})
      .Bind(11, run.queued_ns)
      .BindMaybe(12, run.started_ns)
      .BindMaybe(13, run.ended_ns)
      .BindMaybe(14, run.exit_code)
      .BindMaybe(15, run.signal)
      .Bind(19, run.stdout_bytes)
      .Bind(20, run.stdout_dropped_bytes)
      .Bind(21, run.stderr_bytes)
      .Bind(22, run.stderr_dropped_bytes);
  if (run.error.has_value()) {
    statement.BindText(16, run.error->code).BindText(17, run.error->message).BindText(18, run.error->remedy);
  }
}

Status InsertArtifacts(Db& db, const std::string& run_id, const std::vector<ArtifactRow>& artifacts) {
  if (artifacts.empty()) return OkStatus();
  Statement insert(db, kInsertArtifact);
  for (const ArtifactRow& artifact : artifacts) {
    insert.BindText(1, run_id).BindText(2, artifact.name).Bind(3, artifact.size_bytes).BindText(4, artifact.sha256);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertTrust(Db& db, const std::string& run_id, const std::vector<TrustReason>& trust) {
  if (trust.empty()) return OkStatus();
  Statement insert(db, kInsertTrust);
  int64_t position = 0;
  for (const TrustReason& reason : trust) {
    insert.BindText(1, run_id).Bind(2, position++).BindText(3, reason.code).BindText(4, reason.message);
    RETURN_IF_ERROR(insert.Run());
  }
  return OkStatus();
}

Status InsertMetrics(Db& db, const std::string& run_id, const std::vector<MetricRow>& metrics) {
  if (metrics.empty()) return OkStatus();
  Statement insert(db, kInsertMetric);
  int64_t position = 0;
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
    artifacts.push_back({std::string(select.Text(0)), select.Integer(1), std::string(select.Text(2))});
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

// Reads whole runs; its statements are prepared once, for one run or a thousand.
class RunReader {
 public:
  explicit RunReader(Db& db)
      : run_(db, kSelectRun),
        devices_(db, kSelectDevices),
        labels_(db, kSelectLabels),
        trust_(db, kSelectTrust),
        artifacts_(db, kSelectArtifacts),
        metrics_(db, kSelectMetrics) {}

  // Nothing when there is no such run.
  Result<std::optional<RunRow>> Read(const std::string& id) {
    run_.BindText(1, id);
    if (!run_.Next()) {
      RETURN_IF_ERROR(run_.status());
      return std::optional<RunRow>();
    }
    RunRow run = TakeRow();
    (void)run_.Next();  // there is one at most; this makes ready for the next
    devices_.BindText(1, id);
    while (devices_.Next()) run.devices.emplace_back(devices_.Text(0));
    RETURN_IF_ERROR(devices_.status());
    labels_.BindText(1, id);
    while (labels_.Next()) run.labels.emplace(labels_.Text(0), labels_.Text(1));
    RETURN_IF_ERROR(labels_.status());
    ASSIGN_OR_RETURN(run.trust, ReadTrust(trust_, id));
    ASSIGN_OR_RETURN(run.artifacts, ReadArtifacts(artifacts_, id));
    ASSIGN_OR_RETURN(run.metrics, ReadMetrics(metrics_, id));
    return std::optional<RunRow>(std::move(run));
  }

  // Those of `ids` that are there, in that order.
  Result<std::vector<RunRow>> ReadAll(const std::vector<std::string>& ids) {
    std::vector<RunRow> runs;
    runs.reserve(ids.size());
    for (const std::string& id : ids) {
      ASSIGN_OR_RETURN(std::optional<RunRow> run, Read(id));
      if (run.has_value()) runs.push_back(*std::move(run));
    }
    return runs;
  }

 private:
  RunRow TakeRow() {
    RunRow run;
    run.id = run_.Text(0);
    run.uid = static_cast<uint32_t>(run_.Integer(1));
    run.tool = run_.Text(2);
    run.state = static_cast<RunState>(run_.Integer(3));
    run.pinned = run_.Integer(4) != 0;
    run.shared = run_.Integer(5) != 0;
    run.attached = run_.Integer(6) != 0;
    run.idempotency_key = run_.Text(7);
    run.timeout_ms = run_.Integer(8);
    run.queue_timeout_ms = run_.Integer(9);
    run.queued_ns = run_.Integer(10);
    run.started_ns = run_.MaybeInteger(11);
    run.ended_ns = run_.MaybeInteger(12);
    run.exit_code = run_.MaybeInteger(13);
    run.signal = run_.MaybeInteger(14);
    if (!run_.IsNull(15)) {
      run.error = RunError{std::string(run_.Text(15)), std::string(run_.Text(16)), std::string(run_.Text(17))};
    }
    run.stdout_bytes = run_.Integer(18);
    run.stdout_dropped_bytes = run_.Integer(19);
    run.stderr_bytes = run_.Integer(20);
    run.stderr_dropped_bytes = run_.Integer(21);
    run.cwd = run_.Bytes(22);
    run.argv = Split(run_.Bytes(23));
    run.environment = SplitEnvironment(run_.Bytes(24));
    return run;
  }

  Statement run_, devices_, labels_, trust_, artifacts_, metrics_;
};

// --- Which runs, newest first.

constexpr size_t kFilterLimit = 100;

std::string Placeholders(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
  return text;
}

// A SELECT of ids under construction: its text, and its values in the order of their question marks.
struct IdQuery {
  std::string sql;
  std::vector<std::variant<int64_t, std::string>> values;

  template <typename... Values>
  void Add(const std::string& text, const Values&... added) {
    sql += text;
    (values.emplace_back(added), ...);
  }
};

bool AllOpen(const std::vector<RunState>& states) {
  return !states.empty() && std::none_of(states.begin(), states.end(), IsTerminal);
}

// What is true of the runs wanted, apart from the owner and the first label.
void AddConditions(IdQuery& query, const RunFilter& filter) {
  if (!filter.before_id.empty()) query.Add(" AND r.id < ?", filter.before_id);
  if (!filter.tools.empty()) {
    query.Add(" AND r.tool IN (" + Placeholders(filter.tools.size()) + ")");
    for (const std::string& tool : filter.tools) query.Add("", tool);
  }
  if (!filter.states.empty()) {
    query.Add(" AND r.state IN (" + Placeholders(filter.states.size()) + ")");
    for (RunState state : filter.states) query.Add("", static_cast<int64_t>(state));
  }
  for (size_t i = 1; i < filter.labels.size(); ++i) {
    query.Add(" AND EXISTS (SELECT 1 FROM run_labels WHERE run_id = r.id AND key = ? AND value = ?)",
              filter.labels[i].first, filter.labels[i].second);
  }
}

// The index is named each time: no statistics are kept, and a wrong guess would read the whole table.
IdQuery BuildIdQuery(const RunFilter& filter) {
  IdQuery query;
  const std::string visible = " AND (r.uid = ? OR r.shared = 1)";
  if (!filter.labels.empty()) {
    query.Add(
        "SELECT r.id FROM run_labels AS l INDEXED BY run_labels_by_label CROSS JOIN runs AS r ON r.id = l.run_id "
        "WHERE l.key = ? AND l.value = ?",
        filter.labels[0].first, filter.labels[0].second);
    if (!filter.before_id.empty()) query.Add(" AND l.run_id < ?", filter.before_id);
    if (filter.uid.has_value()) query.Add(visible, int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" ORDER BY l.run_id DESC");
  } else if (AllOpen(filter.states)) {
    query.Add("SELECT r.id FROM runs AS r INDEXED BY runs_open WHERE r.state < 4");
    if (filter.uid.has_value()) query.Add(visible, int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" ORDER BY r.id DESC");
  } else if (filter.uid.has_value()) {
    // Two ordered walks, merged.
    query.Add("SELECT r.id AS id FROM runs AS r INDEXED BY runs_by_owner WHERE r.uid = ?", int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" UNION SELECT r.id FROM runs AS r INDEXED BY runs_shared WHERE r.shared = 1");
    AddConditions(query, filter);
    query.Add(" ORDER BY id DESC");
  } else {
    query.Add("SELECT r.id FROM runs AS r WHERE 1");
    AddConditions(query, filter);
    query.Add(" ORDER BY r.id DESC");
  }
  return query;
}

Result<std::vector<std::string>> SelectIds(Db& db, const IdQuery& query) {
  Statement select(db, query.sql);
  for (size_t i = 0; i < query.values.size(); ++i) {
    int index = static_cast<int>(i) + 1;
    if (const int64_t* integer = std::get_if<int64_t>(&query.values[i])) {
      select.Bind(index, *integer);
    } else {
      select.BindText(index, std::get<std::string>(query.values[i]));
    }
  }
  std::vector<std::string> ids;
  while (select.Next()) ids.emplace_back(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return ids;
}

// The first text after all that start with `prefix`; empty when there is none.
std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

Status NoSuchRun(const std::string& act, const std::string& id) {
  return Fail(ErrorCode::kNotFound, act + " run " + id, "there is no such run");
}

}  // namespace

Status InsertRun(Db& db, const RunRow& run) {
  RETURN_IF_ERROR(CheckStorable(run));
  Statement insert(db, kInsertRun);
  BindChanging(insert, run);
  insert.Bind(2, int64_t{run.uid})
      .BindText(3, run.tool)
      .Bind(5, int64_t{run.pinned})
      .Bind(9, run.timeout_ms)
      .Bind(10, run.queue_timeout_ms)
      .BindBytes(23, run.cwd)
      .BindBytes(24, Joined(run.argv))
      .BindBytes(25, JoinedEnvironment(run.environment));
  if (!run.idempotency_key.empty()) insert.BindText(8, run.idempotency_key);
  Status status = insert.Run();
  if (!status.ok()) {
    int result = sqlite3_extended_errcode(db.handle());
    if (result == SQLITE_CONSTRAINT_PRIMARYKEY || result == SQLITE_CONSTRAINT_UNIQUE) {
      return Fail(ErrorCode::kUsage, "insert run " + run.id, "its id or its idempotency key is taken");
    }
    return status.In("insert run " + run.id);
  }
  if (!run.devices.empty()) {
    Statement insert_device(db, kInsertDevice);
    int64_t position = 0;
    for (const std::string& device : run.devices) {
      insert_device.BindText(1, run.id).Bind(2, position++).BindText(3, device);
      RETURN_IF_ERROR(insert_device.Run());
    }
  }
  if (!run.labels.empty()) {
    Statement insert_label(db, kInsertLabel);
    for (const auto& [key, value] : run.labels) {
      insert_label.BindText(1, run.id).BindText(2, key).BindText(3, value);
      RETURN_IF_ERROR(insert_label.Run());
    }
  }
  RETURN_IF_ERROR(InsertTrust(db, run.id, run.trust));
  RETURN_IF_ERROR(InsertArtifacts(db, run.id, run.artifacts));
  return InsertMetrics(db, run.id, run.metrics);
}

Status UpdateRun(Db& db, const RunRow& run) {
  Statement update(db, kUpdateRun);
  BindChanging(update, run);
  Status status = update.Run();
  if (!status.ok()) return status.In("update run " + run.id);
  if (db.changes() == 0) return NoSuchRun("update", run.id);

  // Most updates change none of these, and reading is cheaper than writing.
  Statement select_trust(db, kSelectTrust);
  ASSIGN_OR_RETURN(std::vector<TrustReason> trust, ReadTrust(select_trust, run.id));
  if (trust != run.trust) {
    RETURN_IF_ERROR(Statement(db, kDeleteTrust).BindText(1, run.id).Run());
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
  return OkStatus();
}

Status SetPinned(Db& db, const std::string& id, bool pinned) {
  Statement update(db, "UPDATE runs SET pinned = ?2 WHERE id = ?1");
  RETURN_IF_ERROR(update.BindText(1, id).Bind(2, int64_t{pinned}).Run());
  return db.changes() == 0 ? NoSuchRun("pin", id) : OkStatus();
}

Status AddArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact) {
  Statement exists(db, "SELECT 1 FROM runs WHERE id = ?1");
  if (!exists.BindText(1, run_id).Next()) {
    RETURN_IF_ERROR(exists.status());
    return NoSuchRun("add an artifact to", run_id);
  }
  RETURN_IF_ERROR(Statement(db, kDeleteArtifact).BindText(1, run_id).BindText(2, artifact.name).Run());
  return InsertArtifacts(db, run_id, {artifact});
}

Status DeleteRun(Db& db, const std::string& id) {
  Statement remove(db, "DELETE FROM runs WHERE id = ?1");
  RETURN_IF_ERROR(remove.BindText(1, id).Run());
  return db.changes() == 0 ? NoSuchRun("delete", id) : OkStatus();
}

Result<RunRow> ReadRun(Db& db, const std::string& id) {
  ASSIGN_OR_RETURN(std::optional<RunRow> run, RunReader(db).Read(id));
  if (!run.has_value()) return NoSuchRun("read", id);
  return *std::move(run);
}

Result<std::optional<RunRow>> ReadRunByKey(Db& db, uint32_t uid, const std::string& idempotency_key) {
  Statement find(db, "SELECT id FROM runs WHERE uid = ?1 AND idempotency_key = ?2");
  if (find.Bind(1, int64_t{uid}).BindText(2, idempotency_key).Next()) {
    return RunReader(db).Read(std::string(find.Text(0)));
  }
  RETURN_IF_ERROR(find.status());
  return std::optional<RunRow>();
}

Result<std::vector<RunRow>> ReadOpenRuns(Db& db) {
  IdQuery query{"SELECT id FROM runs INDEXED BY runs_open WHERE state < 4 ORDER BY id", {}};
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return RunReader(db).ReadAll(ids);
}

Result<std::string> ReadLastRunId(Db& db) {
  Statement select(db, "SELECT id FROM runs ORDER BY id DESC LIMIT 1");
  if (select.Next()) return std::string(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return std::string();
}

Result<std::vector<RunRow>> ListRuns(Db& db, const RunFilter& filter) {
  KPROF_CHECK(filter.limit >= 1 && filter.limit <= 1000);
  if (filter.labels.size() > kFilterLimit || filter.tools.size() > kFilterLimit) {
    return Fail(ErrorCode::kUsage, "list runs", "more than " + std::to_string(kFilterLimit) + " labels or tools");
  }
  IdQuery query = BuildIdQuery(filter);
  query.Add(" LIMIT ?", filter.limit);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return RunReader(db).ReadAll(ids);
}

Result<std::vector<std::string>> FindRunIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                            int64_t limit) {
  IdQuery query;
  query.Add("SELECT id FROM runs WHERE id >= ?", prefix);
  if (std::string end = EndOfPrefix(prefix); !end.empty()) query.Add(" AND id < ?", end);
  if (uid.has_value()) query.Add(" AND (uid = ? OR shared = 1)", int64_t{*uid});
  query.Add(" ORDER BY id DESC LIMIT ?", limit);
  return SelectIds(db, query);
}

Result<std::string> ReadRecentRunId(Db& db, int64_t back, std::optional<uint32_t> uid) {
  RunFilter filter;
  filter.uid = uid;
  IdQuery query = BuildIdQuery(filter);
  query.Add(" LIMIT 1 OFFSET ?", back);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  if (ids.empty()) {
    return Fail(ErrorCode::kNotFound, "find run @last~" + std::to_string(back), "there are not as many runs");
  }
  return ids[0];
}

Result<CatalogCounts> ReadCounts(Db& db) {
  Statement select(db,
                   "SELECT (SELECT value FROM facts WHERE name = 'runs'), "
                   "(SELECT value FROM facts WHERE name = 'artifact_bytes')");
  if (select.Next()) return CatalogCounts{select.Integer(0), select.Integer(1)};
  return select.status().ok() ? Fail(ErrorCode::kInternal, "read counts", "no row") : select.status();
}

}  // namespace kprof
