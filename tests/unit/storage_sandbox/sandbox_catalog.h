// A catalog on disk for the sandbox's tests: three people's runs, of which uid 1000 may see its own and one that 1001
// shares. What it may not see says SECRET in every text. Removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "storage/db/db.h"
#include "storage/sandbox/user_query.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

inline constexpr Viewer kAlice{.uid = 1000};
inline constexpr Viewer kBob{.uid = 1001};
inline constexpr Viewer kNobody{.uid = 4242};
inline constexpr Viewer kOperator{.uid = 1, .sees_all = true};
inline constexpr Viewer kAdmin{.uid = 1, .sees_all = true, .sees_audit = true};

inline RunRow SomeRun(const std::string& id, uint32_t uid, bool shared, const std::string& word) {
  RunRow run;
  run.id = id;
  run.uid = uid;
  run.tool = "ncu";
  run.state = RunState::kDone;
  run.argv = {"python3", word + ".py", "a b"};
  run.cwd = "/home/" + word;
  run.environment = {{"KEY", word}};
  run.labels = {{"branch", word}, {"path", "$." + word}};
  run.devices = {"0", word};
  run.shared = shared;
  if (!shared) {
    run.session_id = "of-" + word + id;
    run.round = 2;
  }
  run.idempotency_key = "key-" + word + id;
  run.queued_ns = 1'700'000'000'000'000'000;
  run.started_ns = run.queued_ns + 1'000;
  run.ended_ns = run.queued_ns + 5'000;
  run.exit_code = 0;
  run.stdout_bytes = 17;
  run.trust = {{"clocks_not_locked", word}};
  run.artifacts = {{word + ".ncu-rep", 4096, "ab" + word, "out/" + word}};
  TracePartRow part;
  part.name = part.source_name = word;
  part.source_hash = "1-" + word;
  part.asked_format = "auto";
  run.trace = {part};
  run.metrics = {{.name = "gpu_ms", .value = 2.5, .unit = "ms"},
                 {.name = "dram", .value = 40, .unit = word, .kernel = "gemm " + word, .launch = 3}};
  return run;
}

inline SessionRow SomeSession(const std::string& id, uint32_t uid, const std::string& word) {
  SessionRow session;
  session.id = id;
  session.uid = uid;
  session.state = SessionState::kOpen;
  session.clocks = "lock=" + word;
  session.labels = {{"branch", word}};
  session.devices = {"0", word};
  session.opened_ns = 1'700'000'000'000'000'000;
  session.granted_ns = session.opened_ns + 7;
  session.error = RunError{word, word, word};
  session.trust = {{"clocks_not_locked", word}};
  return session;
}

class SandboxCatalog {
 public:
  enum class Hidden { kPresent, kAbsent };

  explicit SandboxCatalog(Hidden hidden = Hidden::kPresent) {
    Result<Db> db = Db::Open(path(), {.mode = Db::Mode::kReadWrite});
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::make_unique<Db>(*std::move(db));
    Expect(MakeCatalog(*db_));
    Expect(db_->Execute("BEGIN"));
    Add(SomeRun("r1", kAlice.uid, false, "one"));
    RunRow failed = SomeRun("r2", kAlice.uid, false, "two");
    failed.state = RunState::kFailed;
    failed.error = RunError{"command_failed", "exit 3", "look at the log"};
    failed.exit_code = 3;
    failed.ended_ns = failed.queued_ns + 9'000;
    Add(failed);
    Add(SomeRun("r4", kBob.uid, true, "shared"));
    if (hidden == Hidden::kPresent) {
      Add(SomeRun("r0", kBob.uid, false, "SECRET"));
      Add(SomeRun("r3", kBob.uid, false, "SECRET"));
      Add(SomeRun("r9", 1002, false, "SECRET"));
    }
    // What nobody but an admin sees is absent in part, as the rest is: no question of theirs may tell.
    AddAudit("r1");
    if (hidden == Hidden::kPresent) AddAudit("r0");
    Add(SomeSession("s1", kAlice.uid, "one"));
    if (hidden == Hidden::kPresent) {
      Add(SomeSession("s0", kBob.uid, "SECRET"));
      Add(SomeSession("s2", 1002, "SECRET"));
    }
    Expect(db_->Execute("COMMIT"));
  }

  std::string path() const { return folder_ / "catalog.db"; }
  const std::string& folder() const { return folder_.path(); }
  Db& db() { return *db_; }

  void Add(const RunRow& run) { Expect(InsertRun(*db_, run)); }
  void Add(const SessionRow& session) { Expect(InsertSession(*db_, session)); }
  void AddAtOnce(const RunRow& run) {
    Expect(db_->Execute("BEGIN"));
    Add(run);
    Expect(db_->Execute("COMMIT"));
  }
  void AddAudit(const std::string& run_id) {
    AuditEntry entry;
    entry.time_ns = 1'700'000'000'000'000'000;
    entry.action = "submit";
    entry.run_id = run_id;
    entry.devices = {"0", "1"};
    entry.detail = run_id == "r0" ? "SECRET" : "";
    Expect(AppendAudit(*db_, entry));
  }
  // For tests that only read.
  static SandboxCatalog& Shared() {
    static SandboxCatalog catalog;
    return catalog;
  }

  static void Expect(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<Db> db_;
};

inline std::string ValueText(const SqlValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "NULL"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      char text[64];
      std::snprintf(text, sizeof text, "%.15g", number);
      return text;
    }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const SqlBytes& bytes) const { return "blob:" + bytes.bytes; }
  };
  return std::visit(Visitor{}, value);
}

struct Answer {
  Status status;
  std::vector<std::string> columns;
  std::vector<std::string> rows;  // values joined by '|'
  bool truncated = false;

  // All that a client could see of it.
  std::string Text() const {
    std::string text = status.ToString() + "\n";
    for (const std::string& column : columns) text += column + "|";
    for (const std::string& row : rows) text += "\n" + row;
    return text + (truncated ? "\ntruncated" : "");
  }
};

inline Answer Ask(const std::string& path, const Viewer& viewer, const std::string& sql, const QueryLimits& limits = {},
                  std::stop_token stop = {}) {
  Answer answer;
  Result<std::unique_ptr<UserQuery>> query = UserQuery::Open(path, viewer, sql, limits, std::move(stop));
  if (!query.ok()) {
    answer.status = query.status();
    return answer;
  }
  answer.columns = (*query)->column_names();
  while (true) {
    Result<std::optional<RowBatch>> batch = (*query)->NextBatch();
    if (!batch.ok()) {
      answer.status = batch.status();
      break;
    }
    if (!batch->has_value()) break;
    for (int64_t row = 0; row < (*batch)->rows; ++row) {
      std::string text;
      for (const auto& column : (*batch)->columns) {
        text += (text.empty() ? "" : "|") + ValueText(column[static_cast<size_t>(row)]);
      }
      answer.rows.push_back(text);
    }
  }
  answer.truncated = (*query)->truncated();
  return answer;
}

}  // namespace kprof
