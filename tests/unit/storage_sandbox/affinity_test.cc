// Values of other types than the column they are compared with: SQLite turns a side into the other's type, by rules
// that look at both, of which the connection inside sees only one.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/storage_sandbox/plain_tables.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

// Texts that look like numbers, equal ones among them, and some that do not.
constexpr const char* kTexts[] = {"3", "03", "20", "100", "9", "3.0", "1e2", " 3", "-1", "abc", "", "Abc", "0x3", "!"};
constexpr size_t kTextCount = std::size(kTexts);

// No two of them the same number: where a column equals one, SQLite takes it for one value when it sorts.
constexpr const char* kIds[] = {"03", "20", "100", "9", "-1", "abc", "Abc", "0x3", "!"};

// Runs whose every column has such values.
void Fill(SandboxCatalog& catalog) {
  SandboxCatalog::Expect(catalog.db().Execute("DELETE FROM runs"));
  SandboxCatalog::Expect(catalog.db().Execute("BEGIN"));
  for (size_t i = 0; i < 22; ++i) {
    const std::string word = kTexts[i % kTextCount];
    RunRow run =
        SomeRun(i < std::size(kIds) ? kIds[i] : "x" + std::to_string(i), static_cast<uint32_t>(i % 4), false, word);
    run.tool = kTexts[i * 5 % kTextCount];
    run.exit_code = static_cast<int32_t>(i % 5) - 1;
    if (i % 6 == 0) run.exit_code.reset();
    run.stdout_bytes = static_cast<int64_t>(i % 3 == 0 ? 100 : i);
    run.labels = {{"step", word}, {"3", kTexts[i * 3 % kTextCount]}};
    run.metrics = {
        {.name = word, .value = static_cast<double>(i % 10), .unit = "20"},
        {.name = "gpu_ms", .value = 2.5, .unit = "ms", .kernel = word, .launch = static_cast<int64_t>(i % 4)}};
    catalog.Add(run);
  }
  SandboxCatalog::Expect(catalog.db().Execute("COMMIT"));
}

class Affinity : public ::testing::TestWithParam<const char*> {};

TEST_P(Affinity, OfBothSidesCounts) {
  SandboxCatalog catalog;
  Fill(catalog);
  PlainTables plain(catalog.path());
  EXPECT_EQ(Sorted(Ask(catalog.path(), kOperator, GetParam()).rows), Sorted(plain.Rows(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Affinity,
    ::testing::Values(
        "SELECT value FROM label WHERE value > CAST('3' AS INTEGER)",
        "SELECT value FROM label WHERE value = CAST('3' AS INTEGER)",
        "SELECT value FROM label WHERE value = CAST('3' AS REAL)", "SELECT value FROM label WHERE value = 3",
        "SELECT value FROM label WHERE value < 20", "SELECT value FROM label WHERE value > x'33'",
        "SELECT value FROM label WHERE value = NULL", "SELECT id FROM run WHERE uid = '3'",
        "SELECT id FROM run WHERE uid >= '1.0'", "SELECT id FROM run WHERE id = CAST('3' AS INTEGER) ORDER BY uid, id",
        "SELECT value FROM label JOIN run ON label.value = run.exit_code",
        "SELECT value FROM label JOIN run ON label.value < run.exit_code",
        "SELECT l.value FROM label l JOIN metric m ON l.value = m.value",
        "SELECT value FROM label WHERE value IN (SELECT exit_code FROM run)",
        "SELECT value FROM label WHERE value IN (3, '20', 9.0)",
        "SELECT id FROM run WHERE id IN (SELECT exit_code FROM run)",
        "SELECT id FROM run WHERE uid IN (SELECT value FROM label)",
        "SELECT run, value FROM label WHERE (run, value) IN (SELECT run, value FROM metric)",
        "SELECT run, value FROM label WHERE (value, key) IN (SELECT exit_code, 'step' FROM run)",
        "SELECT l.value FROM label l JOIN json_each('[3, \"3\", 3.0, null, \"abc\", true]') j ON l.value = j.value",
        "SELECT l.value FROM label l JOIN (SELECT '03' AS x UNION ALL SELECT exit_code FROM run) s ON l.value = s.x",
        "SELECT l.value FROM label l JOIN (SELECT '!' AS x UNION ALL SELECT exit_code FROM run) s ON l.value < s.x",
        "SELECT l.value FROM label l JOIN (SELECT exit_code AS x FROM run UNION ALL SELECT '03') s ON l.value = s.x",
        "SELECT l.value FROM label l JOIN (SELECT exit_code AS x FROM run UNION ALL SELECT '!') s ON l.value < s.x",
        "SELECT l.value FROM label l JOIN (SELECT exit_code AS x FROM run UNION ALL SELECT '!') s ON l.value > s.x"));

// One question after the other, as a fixed seed gives them.
class Asker {
 public:
  std::string Next() {
    const Table& table = Pick(kTables);
    std::string from = std::string(table.name) + " a";
    std::string selected = All(table, "a");
    const Table* other = nullptr;
    if (Chance(2)) {
      other = &Pick(kTables);
      from += std::string(Chance(3) ? " LEFT" : "") + " JOIN " + other->name + " b ON " + Join(table, *other);
      selected += ", " + All(*other, "b");
    }
    std::string sql = "SELECT " + std::string(Chance(8) ? "DISTINCT " : "") + selected + " FROM " + from;
    if (!Chance(5)) sql += " WHERE " + Conditions(table, "a");
    if (other != nullptr && Chance(2)) {
      sql += (sql.find(" WHERE ") == std::string::npos ? " WHERE " : " AND ") + Conditions(*other, "b");
    }
    // By all that is selected: rows that tie look the same.
    sql += " ORDER BY " + std::string("a.") + table.columns[0] + (Chance(2) ? " DESC, " : ", ") + selected;
    if (Chance(3)) sql += " LIMIT " + std::to_string(1 + Below(8)) + " OFFSET " + std::to_string(Below(3));
    return sql;
  }

 private:
  struct Table {
    const char* name;
    std::vector<std::string> columns;  // the run's id first
  };
  const std::vector<Table> kTables = {
      {"run", {"id", "uid", "tool", "exit_code", "stdout_bytes", "state"}},
      {"label", {"run", "key", "value"}},
      {"metric", {"run", "kernel", "launch", "name", "value", "unit", "position"}},
      {"device", {"run", "position", "device"}},
  };

  size_t Below(size_t end) { return random_() % end; }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }
  template <typename Choices>
  auto Pick(const Choices& choices) -> decltype(choices[0]) {
    return choices[Below(std::size(choices))];
  }

  static std::string All(const Table& table, const std::string& alias) {
    std::string all;
    for (const std::string& column : table.columns) all += (all.empty() ? "" : ", ") + alias + "." + column;
    return all;
  }
  std::string Column(const Table& table, const std::string& alias) { return alias + "." + Pick(table.columns); }
  std::string Op() {
    static constexpr const char* kOps[] = {"=", "=", "=", "<", "<=", ">", ">=", "<>", "IS"};
    return std::string(" ") + Pick(kOps) + " ";
  }
  std::string Join(const Table& left, const Table& right) {
    std::string on = "b." + right.columns[0] + " = a." + left.columns[0];
    if (Chance(2)) on = Column(right, "b") + Op() + Column(left, "a");
    if (Chance(3)) on += " AND " + Column(right, "b") + Op() + (Chance(2) ? Value() : Column(left, "a"));
    return on;
  }
  std::string Subquery() {
    const Table& table = Pick(kTables);
    return "SELECT " + Pick(table.columns) + " FROM " + table.name;
  }
  std::string Literal() {
    static constexpr const char* kOthers[] = {"3", "3.0", "20", "-1", "1e2", "9", "x'33'", "NULL", "100"};
    return Chance(2) ? std::string("'") + Pick(kTexts) + "'" : Pick(kOthers);
  }
  std::string Value() {
    static constexpr const char* kTypes[] = {"INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"};
    switch (Below(6)) {
      case 0:
        return "CAST(" + Literal() + " AS " + Pick(kTypes) + ")";
      case 1:
        return "(" + Subquery() + " ORDER BY 1 DESC LIMIT 1)";
      case 2:
        return Literal() + " || ''";
      default:
        return Literal();
    }
  }
  std::string Condition(const Table& table, const std::string& alias) {
    const std::string column = Column(table, alias);
    switch (Below(9)) {
      case 0:
        return column + " IN (" + Literal() + ", " + Literal() + ", " + Literal() + ")";
      case 1:
        return column + " IN (" + Subquery() + ")";
      case 2: {
        const Table& other = Pick(kTables);
        return "(" + alias + "." + table.columns[0] + ", " + alias + "." + table.columns[1 + Below(2)] +
               ") IN (SELECT " + other.columns[0] + ", " + Pick(other.columns) + " FROM " + other.name + ")";
      }
      case 3:
        return column + " BETWEEN " + Value() + " AND " + Value();
      case 4:
        return column + Op() + Column(table, alias);
      default:
        return Chance(4) ? Value() + Op() + column : column + Op() + Value();
    }
  }
  std::string Conditions(const Table& table, const std::string& alias) {
    std::string all = Condition(table, alias);
    while (Chance(2)) all += (Chance(3) ? " OR " : " AND ") + Condition(table, alias);
    return "(" + all + ")";
  }

  std::mt19937 random_{20};
};

TEST(RandomQuestions, AreAnsweredAsPlainTablesWould) {
  SandboxCatalog catalog;
  Fill(catalog);
  PlainTables plain(catalog.path());
  Asker asker;
  size_t answered = 0;
  int wrong = 0;
  for (int i = 0; i < 2000 && wrong < 5; ++i) {
    const std::string sql = asker.Next();
    const Answer answer = Ask(catalog.path(), kOperator, sql);
    ASSERT_TRUE(answer.status.ok()) << sql << "\n" << answer.Text();
    answered += answer.rows.empty() ? 0 : 1;
    wrong += answer.rows == plain.Rows(sql) ? 0 : 1;
    EXPECT_EQ(answer.rows, plain.Rows(sql)) << sql;
  }
  EXPECT_GT(answered, 600u);
}

}  // namespace
}  // namespace kprof
