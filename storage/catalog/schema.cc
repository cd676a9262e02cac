#include "storage/catalog/schema.h"

#include <string>
#include <vector>

namespace kprof {
namespace {

constexpr int64_t kApplicationId = 0x6b70726f;  // "kpro"

// Append only. A migration that has been released is never edited.
const std::vector<const char*> kMigrations = {
    // 1: runs and what hangs on them.
    R"sql(
CREATE TABLE runs (
  id TEXT PRIMARY KEY NOT NULL,
  uid INTEGER NOT NULL,
  tool TEXT NOT NULL,
  state INTEGER NOT NULL,               -- RunState
  pinned INTEGER NOT NULL DEFAULT 0,
  shared INTEGER NOT NULL DEFAULT 0,
  attached INTEGER NOT NULL DEFAULT 0,
  idempotency_key TEXT,
  timeout_ms INTEGER NOT NULL,
  queue_timeout_ms INTEGER NOT NULL,
  queued_ns INTEGER NOT NULL,           -- Unix ns, here and below
  started_ns INTEGER,
  ended_ns INTEGER,
  exit_code INTEGER,
  signal INTEGER,
  error_code TEXT,
  error_message TEXT,
  error_remedy TEXT,
  stdout_bytes INTEGER NOT NULL DEFAULT 0,
  stdout_dropped_bytes INTEGER NOT NULL DEFAULT 0,
  stderr_bytes INTEGER NOT NULL DEFAULT 0,
  stderr_dropped_bytes INTEGER NOT NULL DEFAULT 0,
  -- Last, because they may be long: what is before them is read without their overflow pages.
  cwd BLOB NOT NULL,
  argv BLOB NOT NULL,                   -- each argument, then a zero byte
  environment BLOB NOT NULL             -- each allow-listed NAME=value, then a zero byte
) WITHOUT ROWID;
CREATE UNIQUE INDEX runs_by_key ON runs (uid, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_by_owner ON runs (uid, id);
CREATE INDEX runs_shared ON runs (id) WHERE shared = 1;
CREATE INDEX runs_open ON runs (id) WHERE state < 4;
CREATE INDEX runs_by_end ON runs (ended_ns) WHERE state >= 4 AND pinned = 0;

CREATE TABLE run_devices (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  device TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

CREATE TABLE run_labels (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_id, key)
) WITHOUT ROWID;
CREATE INDEX run_labels_by_label ON run_labels (key, value, run_id);

CREATE TABLE run_trust (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

CREATE TABLE artifacts (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

CREATE TABLE metrics (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  kernel TEXT NOT NULL,                 -- empty: the run as a whole
  launch INTEGER,
  name TEXT NOT NULL,
  value REAL,                           -- null: not a number
  unit TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

-- What is true of the catalog as a whole: 'clean_stop' (0 or 1), 'runs', 'artifact_bytes'.
CREATE TABLE facts (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO facts (name, value) VALUES ('clean_stop', 1), ('runs', 0), ('artifact_bytes', 0);

CREATE TRIGGER count_run_in AFTER INSERT ON runs BEGIN
  UPDATE facts SET value = value + 1 WHERE name = 'runs';
END;
CREATE TRIGGER count_run_out AFTER DELETE ON runs BEGIN
  UPDATE facts SET value = value - 1 WHERE name = 'runs';
END;
CREATE TRIGGER count_artifact_in AFTER INSERT ON artifacts BEGIN
  UPDATE facts SET value = value + NEW.size_bytes WHERE name = 'artifact_bytes';
END;
CREATE TRIGGER count_artifact_out AFTER DELETE ON artifacts BEGIN
  UPDATE facts SET value = value - OLD.size_bytes WHERE name = 'artifact_bytes';
END;
)sql",
};

Status Apply(Db& db, int version) {
  RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  Status status = db.Execute(kMigrations[static_cast<size_t>(version - 1)]);
  if (status.ok()) status = db.Execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
  if (status.ok()) status = db.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  if (status.ok()) status = db.Execute("COMMIT");
  if (!status.ok() && db.in_transaction()) (void)db.Execute("ROLLBACK");
  return status;
}

}  // namespace

int CatalogVersion() {
  return static_cast<int>(kMigrations.size());
}

Status CheckCatalog(Db& db) {
  ASSIGN_OR_RETURN(int64_t application_id, db.QueryInteger("PRAGMA application_id"));
  ASSIGN_OR_RETURN(int64_t version, db.QueryInteger("PRAGMA user_version"));
  ASSIGN_OR_RETURN(int64_t tables, db.QueryInteger("SELECT count(*) FROM sqlite_schema"));
  if (application_id != kApplicationId && tables > 0) {
    return Fail(ErrorCode::kStorageBroken, "open catalog", "the database is not a kprof catalog",
                "choose another state folder");
  }
  if (version > CatalogVersion()) {
    return Fail(
        ErrorCode::kStorageBroken, "open catalog",
        "it is version " + std::to_string(version) + ", this kprofd knows up to " + std::to_string(CatalogVersion()),
        "upgrade kprofd, or choose another state folder");
  }
  return OkStatus();
}

Status MigrateCatalog(Db& db) {
  RETURN_IF_ERROR(CheckCatalog(db));
  ASSIGN_OR_RETURN(int64_t version, db.QueryInteger("PRAGMA user_version"));
  for (int next = static_cast<int>(version) + 1; next <= CatalogVersion(); ++next) {
    Status status = Apply(db, next);
    if (!status.ok()) return status.In("migrate catalog to version " + std::to_string(next));
  }
  return OkStatus();
}

}  // namespace kprof
