// One run in the catalog: insert, update, read, delete. Functions over a Db; those that change it are for a Writer job.
// Lists and searches of runs are run_list.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_details.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {

// A list of strings as one column (argv and environment): each entry, then a zero byte. REQUIRES: no entry has a zero
// byte, no name of a variable has a '='.
std::string Joined(const std::vector<std::string>& strings);
std::string JoinedEnvironment(const std::vector<std::pair<std::string, std::string>>& environment);

// The list in such bytes. Bytes that nobody joined give some list.
std::vector<std::string> Split(std::string_view bytes);
std::vector<std::pair<std::string, std::string>> SplitEnvironment(std::string_view bytes);

// Reads whole runs: the row and its details. Its statements are prepared once, for one run or a thousand. Must not
// outlive its Db.
class RunReader {
 public:
  explicit RunReader(Db& db);

  // Nothing when there is no such run.
  Result<std::optional<RunRow>> Read(const std::string& id);

  // The runs of `ids` that are there, in that order.
  Result<std::vector<RunRow>> ReadAll(const std::vector<std::string>& ids);

 private:
  Statement run_;
  RunDetailsReader parts_;
};

// Inserts the run with its details. Fails with kUsage when the id, (uid, idempotency_key) or (session_id, round) is
// taken, or when an argument or the environment has a zero byte.
Status InsertRun(Db& db, const RunRow& run);

// State, shared, attached, timeout, times, exit, error, output sizes, trust, artifacts, metrics and trace become those
// of `run`. The rest (devices, labels, command, owner, session, round, priority, starter, queue timeout...) never
// changes after InsertRun; only SetPinned changes pinned. Fails with kNotFound.
Status UpdateRun(Db& db, const RunRow& run);

Status SetPinned(Db& db, const std::string& id, bool pinned);

// Adds one artifact; replaces one of the same name. Fails with kNotFound for an unknown run.
Status AddArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact);

// Deletes the run and its details. Fails with kNotFound.
Status DeleteRun(Db& db, const std::string& id);

Result<RunRow> ReadRun(Db& db, const std::string& id);  // kNotFound

}  // namespace kprof
