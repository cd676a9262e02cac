// Any SQL at all, asked by somebody who may see a part of the catalog. The same question is put to a second catalog
// that never had the hidden rows: whatever comes out, rows or failure, must be the same, the hidden word must be in
// neither, and nothing may be written. Questions whose answer differs from one time to the next (random(), the time of
// day, a limit just reached) are put twice before they count.
//
// Seeds: tests/sql/*.sql; words: tests/fuzz/user_query.dict.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/db/db.h"
#include "storage/sandbox/user_query.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

constexpr Viewer kViewer{.uid = 1000};
const std::string kHidden = "SECRET";

// A limit of memory well above what small questions need, and of time well below libFuzzer's.
const QueryLimits kLimits{.timeout_ms = 1500, .row_limit = 200, .temp_bytes = 8 << 20, .memory_bytes = 48 << 20};

void Require(bool condition, const char* what, const std::string& detail) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

RunRow SomeRun(const std::string& id, uint32_t uid, bool shared, const std::string& word) {
  RunRow run;
  run.id = id;
  run.uid = uid;
  run.tool = "ncu";
  run.state = RunState::kDone;
  run.argv = {word};
  run.cwd = "/" + word;
  run.environment = {{"KEY", word}};
  run.labels = {{"branch", word}, {"path", "$." + word}};
  run.devices = {word};
  run.shared = shared;
  run.idempotency_key = word + id;
  run.started_ns = 1;
  run.ended_ns = 5;
  run.trust = {{"code", word}};
  run.artifacts = {{word, 4096, word}};
  run.metrics = {{.name = "gpu_ms", .value = 2.5, .unit = word, .kernel = word}};
  return run;
}

class Catalog {
 public:
  explicit Catalog(bool with_hidden) {
    Result<Db> db = Db::Open(path(), {.mode = Db::Mode::kReadWrite});
    Require(db.ok() && MakeCatalog(*db).ok(), "cannot make a catalog", folder_.path());
    Add(*db, SomeRun("r1", kViewer.uid, false, "mine"));
    Add(*db, SomeRun("r2", 1001, true, "shared"));
    if (with_hidden) {
      Add(*db, SomeRun("r0", 1001, false, kHidden));
      Add(*db, SomeRun("r3", 1002, false, kHidden));
    }
    // Closing folds the WAL back, so that from here on any change shows in the one file.
  }

  std::string path() const { return folder_ / "catalog.db"; }

  // The names and sizes of all files; readers make an empty WAL and its index.
  std::string Files() const {
    std::string files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with("-shm")) continue;
      if (name.ends_with("-wal") && entry.file_size() == 0) continue;
      files += name + " " + std::to_string(entry.file_size()) + " " +
               std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
    }
    return files;
  }

 private:
  static void Add(Db& db, const RunRow& run) {
    const Status status = InsertRun(db, run);
    Require(status.ok(), "cannot add a run", status.ToString());
  }
  const TemporaryFolder folder_;
};

std::string Text(const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  if (const auto* bytes = std::get_if<SqlBytes>(&value)) return "x'" + bytes->bytes + "'";
  return "NULL";
}

struct Answer {
  std::string text;  // all that the viewer gets
  bool at_limit = false;
};

Answer Ask(const Catalog& catalog, const std::string& sql) {
  Answer answer;
  const auto fail = [&](const Status& status) {
    answer.text += status.ToString();
    answer.at_limit = status.code() == ErrorCode::kTimedOut || status.code() == ErrorCode::kStorageFull ||
                      status.why().find("memory") != std::string::npos;
    return answer;
  };
  auto query = UserQuery::Open(catalog.path(), kViewer, sql, kLimits, {});
  if (!query.ok()) return fail(query.status());
  for (const std::string& name : (*query)->column_names()) answer.text += name + "|";
  while (true) {
    auto batch = (*query)->NextBatch();
    if (!batch.ok()) return fail(batch.status());
    if (!batch->has_value()) return answer;
    for (int64_t row = 0; row < (*batch)->rows; ++row) {
      answer.text += "\n";
      for (const auto& column : (*batch)->columns) answer.text += Text(column[static_cast<size_t>(row)]) + "|";
    }
  }
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void CheckQuery(const std::string& sql) {
  static const Catalog with(true);
  static const Catalog without(false);
  static const std::string files = with.Files();

  const Answer answer = Ask(with, sql);
  Require(with.Files() == files, "something was written by", sql);
  if (answer.at_limit) return;
  const Answer expected = Ask(without, sql);
  // The word may come from the question itself.
  Require(Contains(sql, kHidden) || !Contains(answer.text, kHidden), "a hidden row came out for",
          sql + "\n" + answer.text);
  if (answer.text == expected.text || expected.at_limit) return;
  if (Ask(without, sql).text != expected.text) return;
  if (Ask(with, sql).text != answer.text) return;
  Require(false, "the hidden rows change the answer to",
          sql + "\n--- with\n" + answer.text + "\n--- without\n" + expected.text);
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckQuery(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
