// Worked questions: a folder of .sql files, each with the .csv that it answers, both of which docs/sql.md quotes.
// KPROF_UPDATE_GOLDEN=1 writes the answers anew instead of comparing them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "storage/sandbox/user_query.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {

inline std::filesystem::path Repository() {
  return KPROF_SOURCE_DIR;
}

inline std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// As kprofctl shows it: a whole number of type REAL is told from an integer.
inline std::string AnswerText(const SqlValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "";
  std::string text = ValueText(value);
  const bool is_whole = std::holds_alternative<double>(value) && text.find_first_not_of("-0123456789") == text.npos;
  return is_whole ? text + ".0" : text;
}

inline std::string Csv(UserQuery& query) {
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
        append(i, AnswerText(value));
      }
      csv += "\n";
    }
  }
}

// Gives the number of questions.
inline int ExpectWorkedQuestions(const std::string& folder,
                                 const std::function<std::unique_ptr<GuestTables>()>& make_guests) {
  using ::testing::HasSubstr;
  const bool update = std::getenv("KPROF_UPDATE_GOLDEN") != nullptr;
  const std::string documentation = update ? "" : ReadFile(Repository() / "docs/sql.md");
  int questions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Repository() / folder)) {
    if (entry.path().extension() != ".sql") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string sql = ReadFile(entry.path());
    auto query = UserQuery::Open(SandboxCatalog::Shared().path(), kAlice, sql, {}, {}, make_guests());
    EXPECT_TRUE(query.ok()) << query.status().ToString();
    if (!query.ok()) continue;
    const std::string csv = Csv(**query);
    std::filesystem::path answer = entry.path();
    answer.replace_extension(".csv");
    ++questions;
    if (update) {
      std::ofstream(answer, std::ios::binary) << csv;
      continue;
    }
    EXPECT_EQ(csv, ReadFile(answer));
    EXPECT_THAT(documentation, HasSubstr(sql.substr(sql.find('\n') + 1)));
    EXPECT_THAT(documentation, HasSubstr(csv));
  }
  return questions;
}

}  // namespace kprof
