#include "storage/catalog/run_table.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "storage/catalog/run_details.h"
#include "storage/db/statement.h"

namespace kprof {

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

namespace {

// In the order in which TakeRunRow takes them.
constexpr const char* kSelectRun = R"sql(
SELECT id, uid, tool, state, pinned, shared, attached, idempotency_key, timeout_ms, queue_timeout_ms, queued_ns, started_ns,
       ended_ns, exit_code, signal, error_code, error_message, error_remedy, stdout_bytes, stdout_dropped_bytes,
       stderr_bytes, stderr_dropped_bytes, cwd, argv, environment, session_id, round, priority, starter, clocks,
       cool_down_ms, exclusive
FROM runs WHERE id = ?1
)sql";

RunRow TakeRunRow(const Statement& row) {
  RunRow run;
  run.id = row.Text(0);
  run.uid = static_cast<uint32_t>(row.Integer(1));
  run.tool = row.Text(2);
  run.state = static_cast<RunState>(row.Integer(3));
  run.pinned = row.Integer(4) != 0;
  run.shared = row.Integer(5) != 0;
  run.attached = row.Integer(6) != 0;
  run.idempotency_key = row.Text(7);
  run.timeout_ms = row.Integer(8);
  run.queue_timeout_ms = row.Integer(9);
  run.queued_ns = row.Integer(10);
  run.started_ns = row.MaybeInteger(11);
  run.ended_ns = row.MaybeInteger(12);
  run.exit_code = row.MaybeInteger(13);
  run.signal = row.MaybeInteger(14);
  if (!row.IsNull(15)) {
    run.error = RunError{std::string(row.Text(15)), std::string(row.Text(16)), std::string(row.Text(17))};
  }
  run.stdout_bytes = row.Integer(18);
  run.stdout_dropped_bytes = row.Integer(19);
  run.stderr_bytes = row.Integer(20);
  run.stderr_dropped_bytes = row.Integer(21);
  run.cwd = row.Bytes(22);
  run.argv = Split(row.Bytes(23));
  run.environment = SplitEnvironment(row.Bytes(24));
  run.session_id = row.Text(25);
  run.round = row.MaybeInteger(26);
  run.priority = row.Integer(27);
  run.starter = static_cast<RunStarter>(row.Integer(28));
  run.clocks = row.Text(29);
  run.cool_down_ms = row.Integer(30);
  run.exclusive = row.Integer(31) != 0;
  return run;
}

}  // namespace

RunReader::RunReader(Db& db) : run_(db, kSelectRun), parts_(db) {}

Result<std::optional<RunRow>> RunReader::Read(const std::string& id) {
  run_.BindText(1, id);
  if (!run_.Next()) {
    RETURN_IF_ERROR(run_.status());
    return std::optional<RunRow>();
  }
  RunRow run = TakeRunRow(run_);
  (void)run_.Next();  // there is one at most; this makes ready for the next
  RETURN_IF_ERROR(parts_.Read(run));
  return std::optional<RunRow>(std::move(run));
}

Result<std::vector<RunRow>> RunReader::ReadAll(const std::vector<std::string>& ids) {
  std::vector<RunRow> runs;
  runs.reserve(ids.size());
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(std::optional<RunRow> run, Read(id));
    if (run.has_value()) runs.push_back(*std::move(run));
  }
  return runs;
}

namespace {

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

constexpr const char* kInsertRun = R"sql(
INSERT INTO runs (id, uid, tool, state, pinned, shared, attached, idempotency_key, timeout_ms, queue_timeout_ms, queued_ns,
                  started_ns, ended_ns, exit_code, signal, error_code, error_message, error_remedy, stdout_bytes,
                  stdout_dropped_bytes, stderr_bytes, stderr_dropped_bytes, cwd, argv, environment, session_id, round, priority,
                  starter, clocks, cool_down_ms, exclusive)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,
        ?26, ?27, ?28, ?29, ?30, ?31, ?32)
)sql";

// Its parameters have the numbers they have in kInsertRun, so that BindChanging serves both.
constexpr const char* kUpdateRun = R"sql(
UPDATE runs SET state = ?4, shared = ?6, attached = ?7, timeout_ms = ?9, queued_ns = ?11, started_ns = ?12, ended_ns = ?13, exit_code = ?14,
  signal = ?15, error_code = ?16, error_message = ?17, error_remedy = ?18, stdout_bytes = ?19, stdout_dropped_bytes = ?20,
  stderr_bytes = ?21, stderr_dropped_bytes = ?22
WHERE id = ?1
)sql";

void BindChanging(Statement& statement, const RunRow& run) {
  statement.BindText(1, run.id)
      .Bind(4, static_cast<int64_t>(run.state))
      .Bind(6, int64_t{run.shared})
      .Bind(7, int64_t{run.attached})
      .Bind(9, run.timeout_ms)
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
      .Bind(10, run.queue_timeout_ms)
      .BindBytes(23, run.cwd)
      .BindBytes(24, Joined(run.argv))
      .BindBytes(25, JoinedEnvironment(run.environment))
      .BindMaybe(27, run.round)
      .Bind(28, run.priority)
      .Bind(29, static_cast<int64_t>(run.starter))
      .BindText(30, run.clocks)
      .Bind(31, run.cool_down_ms)
      .Bind(32, int64_t{run.exclusive});
  if (!run.idempotency_key.empty()) insert.BindText(8, run.idempotency_key);
  if (!run.session_id.empty()) insert.BindText(26, run.session_id);
  Status status = insert.Run();
  if (!status.ok()) {
    int result = sqlite3_extended_errcode(db.handle());
    if (result == SQLITE_CONSTRAINT_PRIMARYKEY || result == SQLITE_CONSTRAINT_UNIQUE) {
      return Fail(ErrorCode::kUsage, "insert run " + run.id, "its id, its idempotency key or its round is taken");
    }
    return status.In("insert run " + run.id);
  }
  return InsertRunDetails(db, run);
}

Status UpdateRun(Db& db, const RunRow& run) {
  Statement update(db, kUpdateRun);
  BindChanging(update, run);
  Status status = update.Run();
  if (!status.ok()) return status.In("update run " + run.id);
  if (db.changes() == 0) return NoSuchRun("update", run.id);
  return UpdateRunDetails(db, run);
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
  return PutArtifact(db, run_id, artifact);
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

}  // namespace kprof
