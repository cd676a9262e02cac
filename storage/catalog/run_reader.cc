#include "storage/catalog/run_reader.h"

#include <cstdint>
#include <utility>

#include "storage/catalog/string_list.h"

namespace kprof {
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

}  // namespace kprof
