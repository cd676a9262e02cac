// The questions of docs/sql.md, in tests/sql: each .sql with the .csv that it answers. KPROF_UPDATE_GOLDEN=1 writes the
// answers anew instead of comparing them. docs/sql.md must quote both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/sandbox/catalog_tables.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::HasSubstr;

std::filesystem::path Repository() {
  return KPROF_SOURCE_DIR;
}

std::string ReadAll(const std::filesystem::path& path) {
  EXPECT_TRUE(std::filesystem::exists(path)) << path;
  return ReadFile(path);
}

RunRow Round(const std::string& id, const std::string& branch, double gpu_ms, int64_t start_s, int64_t seconds) {
  RunRow run;
  run.id = id;
  run.uid = kAlice.uid;
  run.tool = "ncu";
  run.state = RunState::kDone;
  run.argv = {"python3", "bench.py", "--size", "4096"};
  run.cwd = "/home/alice/gemm";
  run.labels = {{"branch", branch}, {"gpu", "h100"}};
  run.devices = {"0"};
  run.queued_ns = (1'767'225'600 + start_s) * 1'000'000'000;  // 2026-01-01 and some
  run.started_ns = run.queued_ns + 1'500'000'000;
  run.ended_ns = *run.started_ns + seconds * 1'000'000'000;
  run.exit_code = 0;
  run.artifacts = {{"report.ncu-rep", 1'000'000 + seconds, "5e" + id}, {"params.json", 200, "7f00"}};
  run.metrics = {{.name = "gpu_ms", .value = gpu_ms, .unit = "ms"},
                 {.name = "gpu_ms", .value = gpu_ms * 0.75, .unit = "ms", .kernel = "gemm_tiled", .launch = 0},
                 {.name = "gpu_ms", .value = gpu_ms * 0.25, .unit = "ms", .kernel = "epilogue", .launch = 1}};
  return run;
}

void FillQuestions(SandboxCatalog& catalog) {
  SandboxCatalog::Expect(catalog.db().Execute("DELETE FROM runs"));
  catalog.Add(Round("r1", "main", 4.0, 0, 12));
  catalog.Add(Round("r2", "tile-128", 3.2, 60, 11));
  RunRow noisy = Round("r3", "tile-128", 3.6, 120, 19);
  noisy.trust = {{"clocks_not_locked", "no permission to lock the clocks of GPU 0"}, {"noise_high", "cv is 8.1 %"}};
  catalog.Add(noisy);
  RunRow failed = Round("r4", "tile-256", 0, 180, 2);
  failed.state = RunState::kFailed;
  failed.exit_code = 3;
  failed.error = RunError{"command_failed", "python3 exited with 3", "kprofctl logs r4 --stderr"};
  failed.metrics.clear();
  failed.artifacts.clear();
  catalog.Add(failed);
  RunRow waiting = Round("r5", "main", 0, 240, 0);
  waiting.tool = "nsys";
  waiting.state = RunState::kQueued;
  waiting.started_ns.reset();
  waiting.ended_ns.reset();
  waiting.exit_code.reset();
  waiting.metrics.clear();
  waiting.artifacts.clear();
  waiting.devices = {"1"};
  catalog.Add(waiting);
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string Csv(UserQuery& query) {
  std::string csv;
  const auto append = [&](size_t i, const std::string& text) { csv += (i == 0 ? "" : ",") + CsvField(text); };
  for (size_t i = 0; i < query.column_names().size(); ++i) append(i, query.column_names()[i]);
  csv += "\n";
  while (true) {
    auto batch = query.NextBatch();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok() || !batch->has_value()) return csv;
    for (int64_t row = 0; row < (*batch)->rows; ++row) {
      for (size_t i = 0; i < (*batch)->columns.size(); ++i) {
        const SqlValue& value = (*batch)->columns[i][static_cast<size_t>(row)];
        append(i, std::holds_alternative<std::monostate>(value) ? "" : ValueText(value));
      }
      csv += "\n";
    }
  }
}

TEST(Questions, AreAnsweredAsTheDocumentationSays) {
  SandboxCatalog catalog;
  FillQuestions(catalog);
  const bool update = std::getenv("KPROF_UPDATE_GOLDEN") != nullptr;
  const std::string documentation = update ? "" : ReadAll(Repository() / "docs/sql.md");
  int questions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Repository() / "tests/sql")) {
    if (entry.path().extension() != ".sql") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string sql = ReadAll(entry.path());
    auto query = UserQuery::Open(catalog.path(), kAlice, sql, {}, {});
    ASSERT_TRUE(query.ok()) << query.status().ToString();
    const std::string csv = Csv(**query);
    std::filesystem::path answer = entry.path();
    answer.replace_extension(".csv");
    if (update) {
      std::ofstream(answer, std::ios::binary) << csv;
      continue;
    }
    EXPECT_EQ(csv, ReadAll(answer));
    EXPECT_THAT(documentation, HasSubstr(sql.substr(sql.find('\n') + 1)));
    EXPECT_THAT(documentation, HasSubstr(csv));
    ++questions;
  }
  EXPECT_TRUE(update || questions >= 10);
}

TEST(Questions, AreAboutTablesThatTheDocumentationDescribes) {
  const std::string documentation = ReadAll(Repository() / "docs/sql.md");
  for (const CatalogTable& table : CatalogTables()) {
    EXPECT_THAT(documentation, HasSubstr(std::string("### ") + table.name + "\n"));
    for (const CatalogColumn& column : table.columns) {
      EXPECT_THAT(documentation, HasSubstr(std::string("| `") + column.name + "` |")) << table.name;
    }
  }
}

}  // namespace
}  // namespace kprof
