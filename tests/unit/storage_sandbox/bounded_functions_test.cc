#include "storage/sandbox/bounded_functions.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/sandbox/work_budget.h"

namespace kprof {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Connection = std::unique_ptr<sqlite3, Close>;

Connection OpenMemory() {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  return Connection(db);
}

// The result and its type, or the error.
std::string Evaluate(sqlite3* db, const std::string& expression, const std::vector<std::string>& texts) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, ("SELECT " + expression).c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return sqlite3_errmsg(db);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    sqlite3_bind_text(statement, static_cast<int>(i + 1), texts[i].data(), static_cast<int>(texts[i].size()),
                      SQLITE_TRANSIENT);
  }
  std::string result;
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const void* bytes = sqlite3_column_blob(statement, 0);
    result = std::to_string(sqlite3_column_type(statement, 0)) + ":" +
             std::string(static_cast<const char*>(bytes == nullptr ? "" : bytes),
                         static_cast<size_t>(sqlite3_column_bytes(statement, 0)));
  } else {
    result = sqlite3_errmsg(db);
  }
  sqlite3_finalize(statement);
  return result;
}

class BoundedFunctions : public ::testing::Test {
 protected:
  BoundedFunctions() { EXPECT_EQ(RegisterBoundedFunctions(ours_.get(), budget_), SQLITE_OK); }

  void ExpectAlike(const std::string& expression, const std::vector<std::string>& texts = {}) {
    std::string shown = expression;
    for (const std::string& text : texts) shown += "\n  '" + text + "'";
    EXPECT_EQ(Evaluate(ours_.get(), expression, texts), Evaluate(theirs_.get(), expression, texts)) << shown;
  }

  WorkBudget budget_{60'000, {}};
  Connection ours_ = OpenMemory();
  Connection theirs_ = OpenMemory();
};

TEST_F(BoundedFunctions, FormatAgreesWithTheOriginalOnOddArguments) {
  for (const char* arguments : {"NULL",
                                "'abc'",
                                "'%'",
                                "'%d %s', 5, 'x'",
                                "'%05d|%-5d|%+d|% d|%,d', 7, 7, 7, 7, 1234567",
                                "'%.3f %e %g %!.20f', 1.5, 1.5, 1.5, 0.1",
                                "'%c|%5c|%-5c|', 'abc', 'abc', 'abc'",
                                "'%.3c|%.*c|%*.*c|', 'ab', 2, 'cd', 6, 3, 'ef'",
                                "'%.*c|%.*c', -4, 'x', -2147483648, 'y'",
                                "'%*c|%.*c', -2147483648, 'x', 4294967298, 'y'",
                                "'%.4294967298c', 'x'",
                                "'%%%n%s', 'x'",
                                "'%*%|%s', 5, 'x'",
                                "'%q %Q %w', 'it''s', 'it''s', 'a\"b'",
                                "'%.3lc|%lld|%llld|%s', 'a', 5, 6, 'x'",
                                "'%y %s', 'x', 'z'",
                                "'%5-c|%s', 'x', 'y'",
                                "'%.5.3c|%s', 'x', 'y'",
                                "'%r %x %X %o %p', 3, 255, 255, 8, 10",
                                "'%s %d %f %c'",
                                "'%s', x'6162'",
                                "x'256300256d', 'a'",
                                "'%c', ''",
                                "'%.3c', 'ä'"}) {
    ExpectAlike("printf(" + std::string(arguments) + ")");
    ExpectAlike("typeof(format(" + std::string(arguments) + "))");
  }
  ExpectAlike("format()");
  ExpectAlike("group_concat(format('%d', value) || printf('%s', value)) FROM json_each('[1,2,3]')");
}

// The original would repeat for minutes and then say the same.
TEST_F(BoundedFunctions, FormatDoesNotRepeatACharacterBeyondTheLongestValue) {
  sqlite3_limit(ours_.get(), SQLITE_LIMIT_LENGTH, 100'000);
  std::string many;
  for (int i = 0; i < 60; ++i) many += "%.2000000000c";
  for (const std::string& format : {std::string("%.2000000000c"), std::string("%.60000c%.60000c"), many}) {
    EXPECT_EQ(Evaluate(ours_.get(), "printf(?, 'a', 'b')", {format}), "string or blob too big") << format.substr(0, 40);
  }
  EXPECT_EQ(Evaluate(ours_.get(), "format('%.*c', 2000000000, 'a')", {}), "string or blob too big");
  EXPECT_EQ(Evaluate(ours_.get(), "length(format('%.*c%.*c', 40000, 'a', 50000, 'b'))", {}), "1:90000");
}

TEST_F(BoundedFunctions, AgreeWithTheOriginalsOnOddArguments) {
  for (const char* expression : {"instr('abc', 'c')",
                                 "instr('abc', '')",
                                 "instr('', '')",
                                 "instr('', 'a')",
                                 "instr(NULL, 'a')",
                                 "instr('a', NULL)",
                                 "instr(x'616263', x'62')",
                                 "instr('abc', x'62')",
                                 "instr(x'c3a4c3b6', 'ö')",
                                 "instr('äöü', 'ü')",
                                 "instr(1234, 3)",
                                 "instr(x'', x'')",
                                 "instr(x'80', cast(x'80' AS TEXT))",
                                 "instr(cast(x'4180' AS TEXT), cast(x'80' AS TEXT))",
                                 "replace('aXbX', 'X', '--')",
                                 "replace('abc', '', 'x')",
                                 "replace('abc', 'b', NULL)",
                                 "replace(NULL, 'b', 'c')",
                                 "replace('abc', NULL, 'c')",
                                 "replace(1212, 1, 3)",
                                 "replace('aaa', 'aa', 'b')",
                                 "replace(x'6162', 'a', 'c')",
                                 "replace('', 'a', 'b')",
                                 "typeof(replace(1212, '', 3))",
                                 "replace('abc', '', NULL)",
                                 "replace('abc', 'abc', '')",
                                 "trim('  a  ')",
                                 "trim('xxaxx', 'x')",
                                 "ltrim('xyxa', 'yx')",
                                 "rtrim('axyx', 'yx')",
                                 "trim('')",
                                 "trim('   ')",
                                 "trim(NULL)",
                                 "trim('a', NULL)",
                                 "trim('a', '')",
                                 "trim('äaä', 'ä')",
                                 "trim('ääa', 'xä')",
                                 "trim(1221, 1)",
                                 "typeof(trim(x'2061'))",
                                 "'abc' LIKE 'A_C'",
                                 "'abc' LIKE '%'",
                                 "'' LIKE ''",
                                 "'' LIKE '%'",
                                 "'a' LIKE ''",
                                 "NULL LIKE 'a'",
                                 "'a' LIKE NULL",
                                 "'a%' LIKE 'a!%' ESCAPE '!'",
                                 "'ab' LIKE 'a!%' ESCAPE '!'",
                                 "'a' LIKE 'a!' ESCAPE '!'",
                                 "'a' LIKE 'a' ESCAPE ''",
                                 "'a' LIKE 'a' ESCAPE 'xy'",
                                 "'a' LIKE 'a' ESCAPE NULL",
                                 "'a%b' LIKE 'a%%b' ESCAPE '%'",
                                 "'a_b' LIKE 'a__b' ESCAPE '_'",
                                 "'Ä' LIKE 'ä'",
                                 "'äb' LIKE '_B'",
                                 "x'61' LIKE 'a'",
                                 "'a' LIKE x'61'",
                                 "12 LIKE 1||'%'",
                                 "'abc' GLOB 'a*'",
                                 "'abc' GLOB 'A*'",
                                 "'abc' GLOB '[a-c]bc'",
                                 "'abc' GLOB '[^a]bc'",
                                 "']x' GLOB '[]]x'",
                                 "'-' GLOB '[a-]'",
                                 "'b' GLOB '[a-'",
                                 "'b' GLOB '['",
                                 "'^' GLOB '[\\^]'",
                                 "'a' GLOB '[^]'",
                                 "'ä' GLOB '[ä-ö]'",
                                 "x'61' GLOB 'a'",
                                 "cast(x'610062' AS TEXT) LIKE 'a'",
                                 "cast(x'610062' AS TEXT) GLOB 'a*b'"}) {
    ExpectAlike(expression);
  }
}

TEST_F(BoundedFunctions, AgreeWithTheOriginalsOnAnythingAtAll) {
  std::mt19937 random(1);
  // Few letters, so that they meet; characters of all lengths, and bytes that are not UTF-8.
  const std::vector<std::string> pieces = {"a",        "b",    "A",    "B",
                                           "%",        "_",    "*",    "?",
                                           "[",        "]",    "^",    "-",
                                           "!",        "ä",    "€",    "\xf0\x9f\x98\x80",
                                           "\x80",     "\xff", "\xc3", "\xed\xa0\x80",
                                           "\xc0\x80", " "};
  const auto text = [&](size_t longest) {
    std::string out;
    for (size_t n = random() % (longest + 1); n > 0; --n)
      out += pieces[random() % (random() % 2 == 0 ? 6 : pieces.size())];
    return out;
  };
  for (int i = 0; i < 4'000; ++i) {
    ExpectAlike("?1 LIKE ?2", {text(10), text(8)});
    ExpectAlike("?1 LIKE ?2 ESCAPE '!'", {text(10), text(8)});
    ExpectAlike("?1 GLOB ?2", {text(10), text(8)});
    ExpectAlike("instr(?1, ?2)", {text(12), text(2)});
    ExpectAlike("replace(?1, ?2, ?3)", {text(12), text(2), text(2)});
    if (HasFailure()) break;
  }
}

TEST_F(BoundedFunctions, TrimAgreesOnTextThatIsUtf8) {
  std::mt19937 random(2);
  const std::vector<std::string> pieces = {"a", "b", "ä", "ö", "€", "\xf0\x9f\x98\x80", " "};
  const auto text = [&](size_t longest) {
    std::string out;
    for (size_t n = random() % (longest + 1); n > 0; --n) out += pieces[random() % pieces.size()];
    return out;
  };
  for (int i = 0; i < 2'000; ++i) {
    for (const char* expression : {"trim(?1, ?2)", "ltrim(?1, ?2)", "rtrim(?1, ?2)"})
      ExpectAlike(expression, {text(10), text(3)});
    if (HasFailure()) break;
  }
}

// Each takes most of a minute or more with the originals.
TEST_F(BoundedFunctions, AreFastWhereTheOriginalsAreQuadratic) {
  for (const char* expression :
       {"instr(hex(zeroblob(1000000)), hex(zeroblob(500000)) || 'b')",
        "length(replace(hex(zeroblob(1000000)), hex(zeroblob(500000)) || 'b', ''))",
        "length(trim(hex(zeroblob(1000000)), replace(hex(zeroblob(200000)), '0', 'x') || '0'))"}) {
    EXPECT_FALSE(Evaluate(ours_.get(), expression, {}).empty());
  }
}

TEST_F(BoundedFunctions, EndPatternsThatTakeTooLong) {
  WorkBudget spent(0, {});
  ASSERT_EQ(RegisterBoundedFunctions(ours_.get(), spent), SQLITE_OK);
  EXPECT_EQ(Evaluate(ours_.get(), "hex(zeroblob(20000)) LIKE '%0000000000000000001%'", {}), "interrupted");
  EXPECT_EQ(Evaluate(ours_.get(), "hex(zeroblob(20000)) GLOB '*0000000000000000001*'", {}), "interrupted");
  EXPECT_EQ(Evaluate(ours_.get(), "trim(hex(zeroblob(20000)), '0')", {}), "interrupted");
}

TEST_F(BoundedFunctions, FailForTextOverTheLimit) {
  sqlite3_limit(ours_.get(), SQLITE_LIMIT_LENGTH, 1000);
  EXPECT_EQ(Evaluate(ours_.get(), "replace(hex(zeroblob(400)), '0', 'xx')", {}), "string or blob too big");
}

}  // namespace
}  // namespace kprof
