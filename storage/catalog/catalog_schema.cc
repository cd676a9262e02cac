#include "storage/catalog/catalog_schema.h"

#include <sys/stat.h>

#include <iterator>
#include <string>

#include "storage/db/statement.h"

namespace kprof {
namespace {

bool HasBytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

Status CheckPages(Db& db, const std::string& remedy) {
  Statement check(db, "PRAGMA quick_check(1)");
  if (!check.Next()) return check.status();
  if (check.Text(0) == "ok") return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "check the catalog's pages", std::string(check.Text(0)), remedy);
}

Status LookAtCatalog(const std::string& path, const char* vfs) {
  if (!HasBytes(path)) return OkStatus();
  // What a killed daemon wrote last is in its WAL alone.
  const Db::Options options = HasBytes(path + "-wal")
                                  ? Db::Options{.mode = Db::Mode::kReadWrite, .wal = false, .alone = true, .vfs = vfs}
                                  : Db::Options{.immutable = true, .vfs = vfs};
  Result<Db> db = Db::Open(path, options);
  return db.ok() ? CheckCatalog(*db) : OkStatus();
}

Status MarkClean(Db& db) {
  return db.Execute("UPDATE facts SET value = 1 WHERE name = 'clean_stop'");
}

Status MarkBackup(Db& db) {
  RETURN_IF_ERROR(MarkClean(db));
  return db.Execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('backup', 1)");
}

Result<bool> IsBackup(Db& db) {
  ASSIGN_OR_RETURN(int64_t marks, db.QueryInteger("SELECT count(*) FROM facts WHERE name = 'backup'"));
  return marks > 0;
}

Status UnmarkBackup(Db& db) {
  return db.Execute("DELETE FROM facts WHERE name = 'backup'");
}

namespace {

constexpr int64_t kApplicationId = 0x6b70726f;  // "kpro"

// Versions 1 to 7 were made before the first release; nothing reads them. A change of the tables raises kCatalogVersion
// and adds a row to kChanges.
constexpr int kCatalogVersion = 10;
constexpr int kOldestVersion = 8;

constexpr const char* kTables = R"sql(
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
  session_id TEXT,                      -- null: none
  round INTEGER,                        -- within its session, from 1
  priority INTEGER NOT NULL DEFAULT 0,
  starter INTEGER NOT NULL DEFAULT 0,   -- RunStarter
  clocks TEXT NOT NULL DEFAULT 'none',  -- its policy; within a session the session's
  cool_down_ms INTEGER NOT NULL DEFAULT 0,
  exclusive INTEGER NOT NULL DEFAULT 0, -- it wants no processes of others there
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
CREATE UNIQUE INDEX runs_by_session ON runs (session_id, round) WHERE session_id IS NOT NULL;
CREATE INDEX runs_by_end ON runs (ended_ns) WHERE state >= 4 AND pinned = 0;

CREATE TABLE run_devices (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  device TEXT NOT NULL,
  key TEXT,                             -- who that is, as in ceilings; null: not known
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
  path TEXT,                            -- where the command left it, from its folder on; null: not there
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

-- The answers to runs that compared two commands.
CREATE TABLE verdicts (
  run_id TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,                   -- FASTER, SLOWER, SAME, INCONCLUSIVE
  ratio REAL,
  ci_low REAL,
  ci_high REAL,
  reasons TEXT NOT NULL                 -- codes, with commas; empty: none
) WITHOUT ROWID;

-- The parts of a run's trace. Their bytes count with those of artifacts, for limits and retention alike. The run's uid
-- stands here as well: who imports is asked whether they have these bytes already.
CREATE TABLE trace_parts (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,                   -- its file is runs/<run_id>/<name>.trace.db
  uid INTEGER NOT NULL,                 -- of the run
  rank INTEGER,
  source_name BLOB NOT NULL,            -- as its owner calls it
  source_format TEXT NOT NULL,          -- that it was read as
  source_bytes INTEGER NOT NULL,
  source_hash TEXT NOT NULL,            -- its size, '-' and a hash; empty: of no file
  source_artifact TEXT,                 -- the source itself, where it is kept
  asked_format TEXT NOT NULL,           -- as it was asked for, here and below
  asked_rank INTEGER,
  bytes INTEGER NOT NULL,               -- of the part's file
  slices INTEGER NOT NULL,
  instants INTEGER NOT NULL,
  counters INTEGER NOT NULL,
  flows INTEGER NOT NULL,
  tracks INTEGER NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;
CREATE INDEX trace_parts_by_source ON trace_parts (uid, source_hash, run_id);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY NOT NULL,
  uid INTEGER NOT NULL,
  state INTEGER NOT NULL,               -- SessionState
  attached INTEGER NOT NULL,
  clocks TEXT NOT NULL,                 -- its policy, as asked for
  priority INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL,              -- 0: none; here and below
  idle_timeout_ms INTEGER NOT NULL,
  queue_timeout_ms INTEGER NOT NULL,
  opened_ns INTEGER NOT NULL,           -- when it was asked for
  granted_ns INTEGER,
  closed_ns INTEGER,
  expires_ns INTEGER,
  last_round INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  error_message TEXT,
  error_remedy TEXT
) WITHOUT ROWID;
CREATE INDEX sessions_by_owner ON sessions (uid, id);
CREATE INDEX sessions_open ON sessions (id) WHERE state < 3;

CREATE TABLE session_devices (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  device TEXT NOT NULL,
  PRIMARY KEY (session_id, position)
) WITHOUT ROWID;

CREATE TABLE session_labels (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (session_id, key)
) WITHOUT ROWID;
CREATE INDEX session_labels_by_label ON session_labels (key, value, session_id);

CREATE TABLE session_trust (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (session_id, position)
) WITHOUT ROWID;

-- What is true of the catalog as a whole: 'clean_stop' (0 or 1), 'runs', 'artifact_bytes', 'audit_kept_since_ns'.
CREATE TABLE facts (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO facts (name, value)
VALUES ('clean_stop', 1), ('runs', 0), ('artifact_bytes', 0), ('audit_kept_since_ns', 0);

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
CREATE TRIGGER count_trace_in AFTER INSERT ON trace_parts BEGIN
  UPDATE facts SET value = value + NEW.bytes WHERE name = 'artifact_bytes';
END;
CREATE TRIGGER count_trace_out AFTER DELETE ON trace_parts BEGIN
  UPDATE facts SET value = value - OLD.bytes WHERE name = 'artifact_bytes';
END;

-- Who did what to which device when. It outlives what it speaks of, so that nothing here refers to another table.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ns INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  caller TEXT NOT NULL,                 -- 'local', or the name in the certificate
  action TEXT NOT NULL,
  run_id TEXT,
  session_id TEXT,
  devices TEXT NOT NULL DEFAULT '',     -- with a comma between them
  outcome TEXT NOT NULL,                -- 'ok', or an error code
  detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX audit_by_time ON audit (time_ns);
-- It only grows; its own retention says first since when it is kept, then removes what is older.
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id) BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.time_ns >= coalesce((SELECT value FROM facts WHERE name = 'audit_kept_since_ns'), 0) BEGIN
  SELECT RAISE(ABORT, 'the audit is append-only; only what is older than it is kept may go');
END;

-- What each user has stored, kept by triggers, so that a limit of it costs one row. Deleting a run deletes what hangs
-- on it after the run itself has gone, when nobody can say whose it was: it is counted out before.
CREATE TABLE owners (
  uid INTEGER PRIMARY KEY NOT NULL,
  runs INTEGER NOT NULL DEFAULT 0,
  sessions INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0      -- of their artifacts, traces, commands, environments and labels
);
CREATE TRIGGER own_run_in AFTER INSERT ON runs BEGIN
  INSERT INTO owners (uid, runs, bytes)
  VALUES (NEW.uid, 1, length(NEW.cwd) + length(NEW.argv) + length(NEW.environment))
  ON CONFLICT (uid) DO UPDATE SET runs = runs + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER own_run_out BEFORE DELETE ON runs BEGIN
  UPDATE owners SET runs = runs - 1,
    bytes = bytes - length(OLD.cwd) - length(OLD.argv) - length(OLD.environment)
      - coalesce((SELECT sum(size_bytes) FROM artifacts WHERE run_id = OLD.id), 0)
      - coalesce((SELECT sum(bytes) FROM trace_parts WHERE run_id = OLD.id), 0)
      - coalesce((SELECT sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))) FROM run_labels
                  WHERE run_id = OLD.id), 0)
  WHERE uid = OLD.uid;
  DELETE FROM owners WHERE uid = OLD.uid AND runs = 0 AND sessions = 0;
END;
CREATE TRIGGER own_artifact_in AFTER INSERT ON artifacts BEGIN
  UPDATE owners SET bytes = bytes + NEW.size_bytes WHERE uid = (SELECT uid FROM runs WHERE id = NEW.run_id);
END;
CREATE TRIGGER own_artifact_out AFTER DELETE ON artifacts BEGIN
  UPDATE owners SET bytes = bytes - OLD.size_bytes WHERE uid = (SELECT uid FROM runs WHERE id = OLD.run_id);
END;
CREATE TRIGGER own_trace_in AFTER INSERT ON trace_parts BEGIN
  UPDATE owners SET bytes = bytes + NEW.bytes WHERE uid = (SELECT uid FROM runs WHERE id = NEW.run_id);
END;
CREATE TRIGGER own_trace_out AFTER DELETE ON trace_parts BEGIN
  UPDATE owners SET bytes = bytes - OLD.bytes WHERE uid = (SELECT uid FROM runs WHERE id = OLD.run_id);
END;
CREATE TRIGGER own_label_in AFTER INSERT ON run_labels BEGIN
  UPDATE owners SET bytes = bytes + length(CAST(NEW.key AS BLOB)) + length(CAST(NEW.value AS BLOB))
  WHERE uid = (SELECT uid FROM runs WHERE id = NEW.run_id);
END;
CREATE TRIGGER own_session_in AFTER INSERT ON sessions BEGIN
  INSERT INTO owners (uid, sessions) VALUES (NEW.uid, 1) ON CONFLICT (uid) DO UPDATE SET sessions = sessions + 1;
END;
CREATE TRIGGER own_session_out BEFORE DELETE ON sessions BEGIN
  UPDATE owners SET sessions = sessions - 1,
    bytes = bytes - coalesce((SELECT sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))) FROM session_labels
                              WHERE session_id = OLD.id), 0)
  WHERE uid = OLD.uid;
  DELETE FROM owners WHERE uid = OLD.uid AND runs = 0 AND sessions = 0;
END;
CREATE TRIGGER own_session_label_in AFTER INSERT ON session_labels BEGIN
  UPDATE owners SET bytes = bytes + length(CAST(NEW.key AS BLOB)) + length(CAST(NEW.value AS BLOB))
  WHERE uid = (SELECT uid FROM sessions WHERE id = NEW.session_id);
END;

-- Devices that processes of an ended run may still use, until the next run there has been told. The run may be deleted
-- meanwhile, so that nothing here refers to it.
CREATE TABLE leftovers (
  device TEXT PRIMARY KEY NOT NULL,
  run_id TEXT NOT NULL,
  boot_id TEXT NOT NULL                 -- of the kernel that it ran under
) WITHOUT ROWID;

-- What runs have reached on devices. The runs may be deleted meanwhile, so that nothing here refers to them.
CREATE TABLE ceilings (
  device TEXT NOT NULL,                 -- its uuid, or where it has none its id
  quantity TEXT NOT NULL,
  dtype TEXT NOT NULL,
  accumulate TEXT NOT NULL,
  unit TEXT NOT NULL,
  value REAL NOT NULL,
  run_id TEXT NOT NULL,
  uid INTEGER NOT NULL,                 -- who recorded it
  time_ns INTEGER NOT NULL,
  clocks TEXT NOT NULL,                 -- of the run: by which policy they were held
  doubts TEXT NOT NULL,                 -- the codes of its trust, with commas; empty: none
  device_name TEXT NOT NULL DEFAULT '', -- as its driver calls its kind; empty: not known
  PRIMARY KEY (device, quantity, dtype, accumulate)
) WITHOUT ROWID;
)sql";

// Each brings a catalog from the version before it to its own. A column that is added stands last in its table, here
// and in kTables.
struct CatalogChange {
  int to_version;
  const char* sql;
};
constexpr CatalogChange kChanges[] = {
    {9,
     "ALTER TABLE artifacts ADD COLUMN path TEXT;"
     "ALTER TABLE run_devices ADD COLUMN key TEXT;"
     "ALTER TABLE ceilings ADD COLUMN device_name TEXT NOT NULL DEFAULT ''"},
    {10,
     "CREATE TABLE verdicts (run_id TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE, "
     "name TEXT NOT NULL, ratio REAL, ci_low REAL, ci_high REAL, reasons TEXT NOT NULL) WITHOUT ROWID"},
};
static_assert(std::size(kChanges) == kCatalogVersion - kOldestVersion);

// All of `change`, and the version with it, or nothing.
template <typename Change>
Status InOneTransaction(Db& db, const Change& change) {
  RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  Status status = change();
  if (status.ok()) status = db.Execute(("PRAGMA user_version = " + std::to_string(kCatalogVersion)).c_str());
  if (status.ok()) status = db.Execute("COMMIT");
  if (!status.ok() && db.in_transaction()) (void)db.Execute("ROLLBACK");
  return status;
}

Status MakeTables(Db& db) {
  auto make = [&db]() -> Status {
    RETURN_IF_ERROR(db.Execute(kTables));
    return db.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  };
  return InOneTransaction(db, make).In("make the catalog's tables");
}

Status BringUpToDate(Db& db, int64_t version) {
  auto change_all = [&db, version]() -> Status {
    for (const CatalogChange& change : kChanges) {
      if (change.to_version > version) RETURN_IF_ERROR(db.Execute(change.sql));
    }
    return OkStatus();
  };
  return InOneTransaction(db, change_all)
      .In("bring the catalog from version " + std::to_string(version) + " to " + std::to_string(kCatalogVersion));
}

}  // namespace

int CatalogVersion() {
  return kCatalogVersion;
}

Status CheckCatalog(Db& db) {
  ASSIGN_OR_RETURN(int64_t application_id, db.QueryInteger("PRAGMA application_id"));
  ASSIGN_OR_RETURN(int64_t version, db.QueryInteger("PRAGMA user_version"));
  ASSIGN_OR_RETURN(int64_t tables, db.QueryInteger("SELECT count(*) FROM sqlite_schema"));
  if (application_id != kApplicationId && tables > 0) {
    return Fail(ErrorCode::kStorageBroken, "open catalog", "the database is not a kprof catalog",
                "choose another state folder");
  }
  if (version > kCatalogVersion) {
    return Fail(
        ErrorCode::kStorageBroken, "open catalog",
        "it is version " + std::to_string(version) + ", this kprofd knows up to " + std::to_string(kCatalogVersion),
        "upgrade kprofd, or choose another state folder");
  }
  if (version < kOldestVersion && tables > 0) {
    return Fail(
        ErrorCode::kStorageBroken, "open catalog",
        "it is version " + std::to_string(version) + ", from before the first release; this kprofd reads version " +
            std::to_string(kOldestVersion) + " and later",
        "move the state folder away, or choose another with --state-dir; what you want to keep of it, export it "
        "with the kprofd that wrote it");
  }
  return OkStatus();
}

Status MakeCatalog(Db& db) {
  RETURN_IF_ERROR(CheckCatalog(db));
  ASSIGN_OR_RETURN(int64_t version, db.QueryInteger("PRAGMA user_version"));
  if (version == kCatalogVersion) return OkStatus();
  return version < kOldestVersion ? MakeTables(db) : BringUpToDate(db, version);
}

}  // namespace kprof
