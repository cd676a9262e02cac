#include "daemon/analysis/kinds/analysis_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// kprofctl's own, which no kind's option can be.
constexpr std::string_view kTaken[] = {"list", "format", "table", "timeout", "json", "socket",
                                       "node", "ca",     "cert",  "key",     "help", "version"};

bool IsWords(std::string_view name, char between) {
  return !name.empty() && name.front() != between && name.back() != between &&
         std::all_of(name.begin(), name.end(),
                     [between](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == between; });
}

void CheckColumns(const std::vector<AnalysisColumn>& columns, const std::string& where) {
  std::set<std::string> names;
  for (const AnalysisColumn& column : columns) {
    EXPECT_TRUE(IsWords(column.name, '_')) << where << column.name;
    EXPECT_TRUE(names.insert(column.name).second) << where << column.name << " is there twice";
    EXPECT_STRNE(column.meaning, "") << where << column.name;
    EXPECT_EQ(std::string_view(column.meaning).find('\n'), std::string_view::npos) << where << column.name;
    if (*column.unit == '\0') continue;
    EXPECT_TRUE(std::string_view(column.name).ends_with(column.unit)) << where << column.name << " hides its unit";
  }
}

TEST(AnalysisKinds, DescribeThemselves) {
  std::set<std::string> names;
  for (const AnalysisKind& kind : AnalysisKinds()) {
    const std::string where = std::string(kind.name) + ": ";
    EXPECT_TRUE(IsWords(kind.name, '-')) << where;
    EXPECT_TRUE(names.insert(kind.name).second) << where << "there are two";
    EXPECT_GE(kind.version, 1) << where;
    EXPECT_TRUE(std::string_view(kind.question).ends_with("?")) << where << kind.question;
    EXPECT_NE(kind.answer, nullptr) << where;
    CheckColumns(kind.facts, where + "facts: ");
    std::set<std::string> shown;  // members of one object of JSON
    for (const AnalysisColumn& fact : kind.facts) shown.insert(fact.name);
    for (const AnalysisTable& table : kind.tables) {
      EXPECT_TRUE(IsWords(table.name, '_')) << where << table.name;
      EXPECT_TRUE(shown.insert(table.name).second) << where << table.name << " is there twice";
      EXPECT_FALSE(table.columns.empty()) << where << table.name;
      CheckColumns(table.columns, where + table.name + ": ");
    }
    std::set<std::string> options;
    for (const AnalysisOption& option : AllOptions(kind.options)) {
      EXPECT_TRUE(IsWords(option.name, '-')) << where << option.name;
      EXPECT_TRUE(options.insert(option.name).second) << where << option.name << " is there twice";
      EXPECT_EQ(std::find(std::begin(kTaken), std::end(kTaken), option.name), std::end(kTaken)) << where << option.name;
      EXPECT_STRNE(option.meaning, "") << where << option.name;
      if (*option.by_default == '\0') continue;
      const std::map<std::string, std::string> given = {{option.name, option.by_default}};
      EXPECT_TRUE(AnalysisOptions::Read("test", kind.options, given).ok()) << where << option.name;
    }
  }
}

// Without work of devices and without ranks, as any kind may be asked: an answer, or why there is none.
TEST(AnalysisKinds, AnswerAboutTracesWithNothingInThem) {
  SampleTrace trace;
  trace.Add({}, 50);
  for (const AnalysisKind& kind : AnalysisKinds()) {
    const Result<AnalysisOptions> options = AnalysisOptions::Read("test", kind.options, {});
    ASSERT_TRUE(options.ok()) << kind.name;
    const Result<AnalysisAnswer> answer = Analyze(kind, AnalysisTraces({trace.part(0)}, {"r1"}), *options, {});
    if (!answer.ok()) {
      EXPECT_EQ(answer.status().code(), ErrorCode::kUsage) << answer.status().ToString();
      continue;
    }
    EXPECT_FALSE(answer->notes().empty()) << kind.name << " says nothing of why its tables are empty";
  }
}

TEST(AnalysisKinds, AreGivenUpWhenNobodyWaits) {
  SampleTrace trace;
  trace.Add(RandomSlices(500, 3), 50);
  for (const AnalysisKind& kind : AnalysisKinds()) {
    const Result<AnalysisOptions> options = AnalysisOptions::Read("test", kind.options, {});
    const StopSignal stop([] { return true; });
    const Result<AnalysisAnswer> answer = Analyze(kind, AnalysisTraces({trace.part(0)}, {"r1"}), *options, stop);
    EXPECT_EQ(answer.status().code(), ErrorCode::kCancelled) << kind.name;
  }
}

TEST(AnalysisKinds, FailWhereThereIsNoMemoryForTheAnswer) {
  SampleTrace trace;
  trace.Add(RandomSlices(500, 3), 50);
  const TakeMemory nothing = [](int64_t bytes) {
    return bytes < 0 ? OkStatus() : Fail(ErrorCode::kUsage, "hold an answer", "there is no memory");
  };
  const Result<const AnalysisKind*> kind = FindAnalysisKind("temporal-breakdown");
  ASSERT_TRUE(kind.ok());
  const Result<AnalysisOptions> options = AnalysisOptions::Read("test", (*kind)->options, {});
  const Result<AnalysisAnswer> answer = Analyze(**kind, AnalysisTraces({trace.part(0)}, {"r1"}, nothing), *options, {});
  EXPECT_EQ(answer.status().why(), "there is no memory");
}

TEST(AnalysisKinds, OneThatIsNoneIsToldWhatThereIs) {
  const Status failure = FindAnalysisKind("temporal_breakdown").status();
  EXPECT_EQ(failure.code(), ErrorCode::kUsage);
  EXPECT_THAT(failure.why(), HasSubstr("no analysis 'temporal_breakdown'"));
  EXPECT_THAT(failure.remedy(), HasSubstr("temporal-breakdown"));
}

// A kind that tells of what it was given, and rows as many as it is told.
constexpr AnalysisOption kRowsOption[] = {
    {"rows", AnalysisType::kInteger, "3", "", "How many rows", "", 0},
    {"deep", AnalysisType::kBoolean, "", "", "Deeper"},
    {"share", AnalysisType::kReal, "", "", "A share"},
    {"turns", AnalysisType::kInteger, "", "", "How many turns", "", 1, false, 5},
};
AnalysisKind CountingKind() {
  return {
      .name = "counting",
      .question = "How many?",
      .options = {kTraceScope, kRowsOption},
      .tables = {{"numbers", {{"run", AnalysisType::kText, "", "The run"}, {"n", AnalysisType::kInteger, "", "It"}}}},
      .answer = [](const AnalysisTraces& traces, const AnalysisOptions& options,
                   const StopSignal&) -> Result<AnalysisAnswer> {
        AnalysisAnswer answer(traces);
        for (size_t part = 0; part < traces.parts().size(); ++part) {
          for (int64_t n = 0; n < *options.integer("rows"); ++n) {
            RETURN_IF_ERROR(answer.AddRow(0, {traces.run(part), n}));
          }
        }
        return answer;
      }};
}

class CountingTest : public testing::Test {
 protected:
  CountingTest() {
    trace_.Add({}, 50, 1, 0);
    trace_.Add({}, 50, 1, 3);
    trace_.Add({}, 50);
  }
  Result<AnalysisAnswer> Ask(const std::map<std::string, std::string>& given) {
    Result<AnalysisOptions> options = AnalysisOptions::Read("analyze counting", kind_.options, given);
    if (!options.ok()) return options.status();
    std::vector<TracePart> parts(trace_.parts().begin(), trace_.parts().end());
    return Analyze(kind_, AnalysisTraces(std::move(parts), {"a", "b", "c"}), *options, {});
  }

  SampleTrace trace_;
  const AnalysisKind kind_ = CountingKind();
};

TEST_F(CountingTest, AllPartsAreAskedAndOneRankWhereItIsNamed) {
  const auto all = Ask({});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(all->rows(0).size(), 9u);
  EXPECT_TRUE(all->notes().empty());
  const auto one = Ask({{"rank", "3"}, {"rows", "1"}});
  ASSERT_EQ(one->rows(0).size(), 1u);
  EXPECT_EQ(std::get<std::string>(one->rows(0)[0][0]), "b");
}

TEST_F(CountingTest, ARankThatIsNotThereIsToldWhichAre) {
  const Status failure = Ask({{"rank", "2"}}).status();
  EXPECT_EQ(failure.code(), ErrorCode::kUsage);
  EXPECT_EQ(failure.remedy(), "there are 0, 3");
}

TEST_F(CountingTest, RowsBeyondTheLimitAreLeftOutAndANoteSaysSo) {
  const auto answer = Ask({{"limit", "4"}});
  EXPECT_EQ(answer->rows(0).size(), 4u);
  EXPECT_THAT(answer->notes(), ElementsAre("numbers: the first 4 of 9 rows"));
  EXPECT_THAT(Ask({{"limit", "9"}})->notes(), ElementsAre());
}

TEST_F(CountingTest, AnOptionThatIsNoneOrCannotBeThatIsUsage) {
  struct Bad {
    std::map<std::string, std::string> given;
    const char* why;
    const char* remedy;
  };
  const Bad bad[] = {
      {{{"ranks", "1"}},
       "it has no option 'ranks'",
       "it has rank, device, from, to, step, limit, rows, deep, share, turns"},
      {{{"rank", "x"}}, "its option rank cannot be 'x'", "it is a whole number from 0 on"},
      {{{"rank", "-1"}}, "its option rank cannot be '-1'", "it is a whole number from 0 on"},
      {{{"from", "1e3"}}, "its option from cannot be '1e3'", "it is a whole number of ns"},
      {{{"to", "99999999999999999999"}},
       "its option to cannot be '99999999999999999999'",
       "it is a whole number of ns"},
      {{{"limit", "0"}}, "its option limit cannot be '0'", "it is a whole number from 1 on"},
      {{{"deep", "yes"}}, "its option deep cannot be 'yes'", "it is true or false"},
      {{{"deep", "2"}}, "its option deep cannot be '2'", "it is true or false"},
      {{{"turns", "6"}}, "its option turns cannot be '6'", "it is a whole number from 1 to 5"},
      {{{"share", "nan"}}, "its option share cannot be 'nan'", "it is a number"},
      {{{"from", "5"}, {"to", "5"}}, "option from is not before option to", "give a stretch of time"},
  };
  for (const Bad& one : bad) {
    const Status failure = Ask(one.given).status();
    EXPECT_EQ(failure.code(), ErrorCode::kUsage);
    EXPECT_EQ(failure.what(), "analyze counting");
    EXPECT_EQ(failure.why(), one.why);
    EXPECT_EQ(failure.remedy(), one.remedy);
  }
}

TEST(AnalysisOptionsTest, ValuesAreOfTheirTypes) {
  const auto options =
      AnalysisOptions::Read("test", {kWindow, kRowsOption}, {{"deep", "true"}, {"share", "0.25"}, {"rows", "7"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->text("window"), "trace");
  EXPECT_TRUE(options->boolean("deep"));
  EXPECT_EQ(options->real("share"), 0.25);
  EXPECT_EQ(options->integer("rows"), 7);
  EXPECT_EQ(options->integer("none"), std::nullopt);
  EXPECT_FALSE(AnalysisOptions::Read("test", {kRowsOption}, {})->boolean("deep"));
  EXPECT_TRUE(AnalysisOptions::Read("test", {kRowsOption}, {{"deep", "1"}})->boolean("deep"));
  EXPECT_FALSE(AnalysisOptions::Read("test", {kRowsOption}, {{"deep", "0"}})->boolean("deep"));
  const Status failure = AnalysisOptions::Read("test", {kWindow}, {{"window", "half"}}).status();
  EXPECT_EQ(failure.remedy(), "it is trace or hta");
}

}  // namespace
}  // namespace kprof
