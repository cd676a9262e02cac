#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::AnalysisColumn Column(const std::string& name, v1::AnalysisType type, const std::string& unit = "") {
  v1::AnalysisColumn column;
  column.set_name(name);
  column.set_type(type);
  column.set_unit(unit);
  column.set_meaning("what " + name + " means");
  return column;
}

// One that no kprofctl knows: facts, two tables, each type of column, each type of option.
v1::AnalysisKind NewKind() {
  v1::AnalysisKind kind;
  kind.set_name("moon-phase");
  kind.set_version(3);
  kind.set_question("How full is it?");
  const auto add_option = [&kind](const std::string& name, v1::AnalysisType type) {
    v1::AnalysisOption& option = *kind.add_options();
    option.set_name(name);
    option.set_type(type);
    option.set_meaning("what " + name + " does");
    return &option;
  };
  add_option("rank", v1::ANALYSIS_TYPE_INTEGER);
  add_option("from", v1::ANALYSIS_TYPE_INTEGER)->set_unit("ns");
  add_option("deep-down", v1::ANALYSIS_TYPE_BOOLEAN);
  add_option("limit", v1::ANALYSIS_TYPE_INTEGER);
  v1::AnalysisOption& window = *add_option("window", v1::ANALYSIS_TYPE_TEXT);
  window.set_default_value("trace");
  window.add_choices("trace");
  window.add_choices("hta");
  *kind.add_facts() = Column("wall_ns", v1::ANALYSIS_TYPE_INTEGER, "ns");
  v1::AnalysisTable& phases = *kind.add_tables();
  phases.set_name("phases");
  *phases.add_columns() = Column("name", v1::ANALYSIS_TYPE_TEXT);
  *phases.add_columns() = Column("rank", v1::ANALYSIS_TYPE_INTEGER);
  *phases.add_columns() = Column("full_percent", v1::ANALYSIS_TYPE_REAL, "percent");
  *phases.add_columns() = Column("is_full", v1::ANALYSIS_TYPE_BOOLEAN);
  *phases.add_columns() = Column("causes", v1::ANALYSIS_TYPE_JSON);
  v1::AnalysisTable& nights = *kind.add_tables();
  nights.set_name("nights");
  *nights.add_columns() = Column("n", v1::ANALYSIS_TYPE_INTEGER);
  return kind;
}

class VerbAnalyzeTest : public VerbsFixture {
 protected:
  void SetUp() override {
    VerbsFixture::SetUp();
    if (IsSkipped()) return;
    daemon_.calls.list_analyses = [](const v1::ListAnalysesRequest&, v1::ListAnalysesResponse& response) {
      *response.add_kinds() = NewKind();
      response.add_kinds()->set_name("tides");
      return OkStatus();
    };
    daemon_.calls.analyze = [this](const v1::AnalyzeRequest& request, FakeStream<v1::AnalyzeResponse> stream) {
      std::lock_guard lock(mu_);
      request_ = request;
      // The test changes its messages as soon as kprofctl has refused one of them.
      const std::vector<v1::AnalyzeResponse> messages = messages_;
      for (const v1::AnalyzeResponse& message : messages) stream.write(message);
      return failure_;
    };
    messages_ = WholeAnswer();
    daemon_.Start();
  }

  static std::vector<v1::AnalyzeResponse> WholeAnswer() {
    const v1::AnalysisKind kind = NewKind();
    std::vector<v1::AnalyzeResponse> messages(5);
    v1::AnalyzeResponse::Header& header = *messages[0].mutable_header();
    header.set_kind(kind.name());
    header.set_version(kind.version());
    header.add_run_ids("01jd");
    *header.mutable_facts() = kind.facts();
    *header.mutable_tables() = kind.tables();
    v1::ColumnData& fact = *messages[1].mutable_facts()->add_values();
    fact.add_kinds(v1::ColumnData::KIND_INTEGER);
    fact.add_integers(int64_t{1} << 60);
    v1::AnalyzeResponse::Batch& phases = *messages[2].mutable_batch();
    phases.set_rows(2);
    for (int i = 0; i < 5; ++i) phases.add_columns();
    const auto add_text = [&phases](int column, const std::string& text) {
      phases.mutable_columns(column)->add_kinds(v1::ColumnData::KIND_TEXT);
      phases.mutable_columns(column)->add_texts(text);
    };
    const auto add_integer = [&phases](int column, int64_t value) {
      phases.mutable_columns(column)->add_kinds(v1::ColumnData::KIND_INTEGER);
      phases.mutable_columns(column)->add_integers(value);
    };
    add_text(0, "new, \"dark\"");
    add_text(0, std::string(100, 'x'));
    add_integer(1, 7);
    phases.mutable_columns(1)->add_kinds(v1::ColumnData::KIND_UNSPECIFIED);
    for (const double value : {12.3456, 100.0}) {
      phases.mutable_columns(2)->add_kinds(v1::ColumnData::KIND_REAL);
      phases.mutable_columns(2)->add_reals(value);
    }
    add_integer(3, 0);
    add_integer(3, 1);
    add_text(4, R"([{"cause":"sun","ns":5}])");
    phases.mutable_columns(4)->add_kinds(v1::ColumnData::KIND_UNSPECIFIED);
    v1::AnalyzeResponse::Batch& nights = *messages[3].mutable_batch();
    nights.set_table(1);
    nights.set_rows(22);
    v1::ColumnData& n = *nights.add_columns();
    for (int i = 0; i < 22; ++i) {
      n.add_kinds(v1::ColumnData::KIND_INTEGER);
      n.add_integers(i);
    }
    v1::AnalyzeResponse::End& end = *messages[4].mutable_end();
    end.add_trust()->set_code("cloudy");
    end.mutable_trust(0)->set_message("nothing was seen");
    end.add_notes("it was day");
    return messages;
  }

  v1::AnalyzeRequest request_;
  std::vector<v1::AnalyzeResponse> messages_;
  Status failure_;
};

TEST_F(VerbAnalyzeTest, JsonIsOneObjectWithTheAnswersOwnSchema) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--json"}), 0);
  std::string nights;
  for (int i = 0; i < 22; ++i) nights += std::string(i == 0 ? "" : ",") + "{\"n\":" + std::to_string(i) + "}";
  EXPECT_EQ(results_,
            R"({"schema":"kprof.analysis.moon-phase.v3","run":["01jd"],"result":{"wall_ns":"1152921504606846976",)"
            R"("phases":[{"name":"new, \"dark\"","rank":7,"full_percent":12.3456,"is_full":false,)"
            R"("causes":[{"cause":"sun","ns":5}]},{"name":")" +
                std::string(100, 'x') +
                R"(","rank":null,"full_percent":100,"is_full":true,"causes":null}],"nights":[)" + nights +
                R"(]},"trust":[{"code":"cloudy","message":"nothing was seen"}],"notes":["it was day"]})"
                "\n");
  EXPECT_EQ(notes_, "");
}

TEST_F(VerbAnalyzeTest, TablesAreForPeople) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last"}), 0);
  EXPECT_THAT(results_, HasSubstr("fact     value\nwall_ns  1152921504606846976\n\nphases\n"));
  EXPECT_THAT(results_, HasSubstr("   7         12.35  false\n"));  // without the list of objects
  EXPECT_THAT(results_, HasSubstr("\n" + std::string(100, 'x') + "     -        100.00  true\n"));
  EXPECT_THAT(results_, testing::EndsWith("19\n"));
  EXPECT_THAT(
      notes_,
      HasSubstr("kprofctl: nights: 2 rows more; --limit N shows N of each table, --format csv --table nights all\n"));
  EXPECT_THAT(notes_, HasSubstr("cloudy: nothing was seen\nkprofctl: it was day\n"));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--limit", "100"}), 0);
  EXPECT_THAT(results_, testing::EndsWith("21\n"));
}

TEST_F(VerbAnalyzeTest, CutsNothingInAPipeNorWhereItIsWide) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last"}), 0);
  EXPECT_THAT(results_, HasSubstr(std::string(100, 'x')));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--wide"}), 0);
  EXPECT_THAT(results_, HasSubstr(std::string(61, 'x')));
}

TEST_F(VerbAnalyzeTest, ListsOfNamesAreReadable) {
  messages_[2].mutable_batch()->mutable_columns(4)->set_texts(
      0,
      R"list(["void at::native::(anonymous namespace)::copy<float>(int)","ncclDevKernel_AllReduce(args)","say \"a\""])list");
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last"}), 0);
  EXPECT_THAT(results_, HasSubstr("false    copy, ncclDevKernel_AllReduce, say \"a\"\n"));
}

TEST_F(VerbAnalyzeTest, TablesWithoutRowsAreLeftOutWhereOthersHaveSome) {
  messages_.erase(messages_.begin() + 3);
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last"}), 0);
  EXPECT_THAT(results_, Not(HasSubstr("nights")));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--table", "nights"}), 0);
  EXPECT_THAT(results_, testing::EndsWith("true\nn\n"));
  messages_.erase(messages_.begin() + 2);
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last"}), 0);
  EXPECT_THAT(results_, HasSubstr("nights\nn\n"));
}

TEST_F(VerbAnalyzeTest, EachRankHasItsShareOfTheRowsThatAreShown) {
  v1::AnalyzeResponse::Batch& phases = *messages_[2].mutable_batch();
  phases.Clear();
  phases.set_rows(32);
  for (int i = 0; i < 5; ++i) phases.add_columns();
  for (int row = 0; row < 32; ++row) {
    phases.mutable_columns(0)->add_kinds(v1::ColumnData::KIND_TEXT);
    phases.mutable_columns(0)->add_texts("row" + std::to_string(row));
    phases.mutable_columns(1)->add_kinds(v1::ColumnData::KIND_INTEGER);
    phases.mutable_columns(1)->add_integers(row / 16);
    for (int i = 2; i < 5; ++i) phases.mutable_columns(i)->add_kinds(v1::ColumnData::KIND_UNSPECIFIED);
  }
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--table", "phases"}), 0);
  EXPECT_THAT(results_,
              AllOf(HasSubstr("row9 "), Not(HasSubstr("row10 ")), HasSubstr("row25 "), Not(HasSubstr("row26 "))));
  EXPECT_THAT(notes_, HasSubstr("phases: 12 rows more"));
}

TEST_F(VerbAnalyzeTest, TimesMayHaveUnits) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--from", "1.5ms"}), 0);
  EXPECT_EQ(request_.options().at("from"), "1500000");
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--from", "-2s", "--rank", "3s"}), 0);
  EXPECT_EQ(request_.options().at("from"), "-2000000000");
  EXPECT_EQ(request_.options().at("rank"), "3s");  // the daemon refuses it
}

TEST_F(VerbAnalyzeTest, NotesAreOfTheTableThatIsShown) {
  messages_[4].mutable_end()->add_notes("nights: the first 22 of 90 rows");
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--table", "phases"}), 0);
  EXPECT_THAT(notes_, AllOf(HasSubstr("it was day"), Not(HasSubstr("of 90 rows"))));
}

TEST_F(VerbAnalyzeTest, CsvIsOneTable) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--format", "csv"}), 0);
  EXPECT_EQ(results_,
            "name,rank,full_percent,is_full,causes\r\n\"new, \"\"dark\"\"\",7,12.3456,false,\"[{\"\"cause\"\":"
            "\"\"sun\"\",\"\"ns\"\":5}]\"\r\n" +
                std::string(100, 'x') + ",,100.0,true,\r\n");
  const size_t before = results_.size();
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--format", "csv", "--table", "nights"}), 0);
  EXPECT_THAT(results_.substr(before), testing::StartsWith("n\r\n0\r\n1\r\n"));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--format", "csv", "--table", "days"}), 2);
  EXPECT_THAT(notes_, HasSubstr("moon-phase has no table 'days'; it has phases, nights"));
}

TEST_F(VerbAnalyzeTest, WordsAreReadByWhatTheDaemonSaysOfTheKind) {
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "--rank", "3", "@last", "--deep-down", "01jd", "--from=-5", "--timeout",
                      "2s", "--window", "hta", "--json"}),
            0);
  EXPECT_EQ(request_.kind(), "moon-phase");
  EXPECT_THAT(request_.runs(), testing::ElementsAre("@last", "01jd"));
  EXPECT_EQ(request_.timeout_ms(), 2000);
  const std::map<std::string, std::string> options(request_.options().begin(), request_.options().end());
  EXPECT_EQ(options, (std::map<std::string, std::string>{
                         {"rank", "3"}, {"deep-down", "true"}, {"from", "-5"}, {"window", "hta"}}));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--from", "-7"}), 0);
  EXPECT_EQ(request_.options().at("from"), "-7");
}

TEST_F(VerbAnalyzeTest, WhatIsNotThereIsUsageAndSaysWhatIs) {
  struct Wrong {
    std::vector<std::string> words;
    const char* said;
  };
  const Wrong wrong[] = {
      {{"moon", "@last"},
       "there is no analysis 'moon'; did you mean 'moon-phase'? there are moon-phase, tides; kprofctl analyze --list "
       "tells"},
      {{"moon-phase", "@last", "--ranks", "1"},
       "there is no option --ranks; did you mean '--rank'? moon-phase has --rank, --from, --deep-down, --limit, "
       "--window"},
      {{"tides", "@last", "--rank", "1"}, "there is no option --rank; tides has none"},
      {{"moon-phase", "@last", "--rank"}, "--rank has no value"},
      {{"moon-phase", "@last", "--rank="}, "--rank is empty"},
      {{"moon-phase", "@last", "--rank", "1", "--rank", "2"}, "--rank is there twice"},
      {{"moon-phase"}, "there is no run; write kprofctl analyze moon-phase RUN..., @last for the last one"},
      {{"--rank", "1", "moon-phase", "@last"}, "the kind of analysis must stand first"},
      {{"moon-phase", "@last", "--format", "ndjson"}, "--format 'ndjson' is none"},
      {{}, "there is no analysis to make"},
  };
  for (const Wrong& one : wrong) {
    std::vector<std::string> words = one.words;
    words.insert(words.begin(), "analyze");
    EXPECT_EQ(Kprofctl(words), 2) << one.said;
    EXPECT_THAT(notes_, HasSubstr(one.said));
  }
  EXPECT_EQ(results_, "");
}

TEST_F(VerbAnalyzeTest, TheListTellsOfKindsAndOfOneAllOfIt) {
  EXPECT_EQ(Kprofctl({"analyze", "--list"}), 0);
  EXPECT_THAT(results_,
              HasSubstr("moon-phase\n  How full is it?\n  options: --rank N, --from NS, --deep-down, --limit N, "
                        "--window trace|hta\n  facts, in SQL analyze_moon_phase_facts\n  phases, in SQL "
                        "analyze_moon_phase: name, rank, full_percent, is_full, causes\n"));
  EXPECT_EQ(Kprofctl({"analyze", "--list", "moon-phase"}), 0);
  EXPECT_THAT(results_, HasSubstr("what is_full means"));
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "--list", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.analyses.v1","analyses":[{"name":"moon-phase","version":3,)"
                                  R"("question":"How full is it?","options":[{"name":"rank","type":"integer",)"
                                  R"("default":null,"unit":null,"choices":[],"meaning":"what rank does"})"));
  EXPECT_EQ(Kprofctl({"analyze", "--list", "sun"}), 2);
}

TEST_F(VerbAnalyzeTest, WhatFailsPrintsNothing) {
  messages_.resize(3);
  failure_ = Fail(ErrorCode::kTimedOut, "analyze moon-phase", "it worked longer than its time limit");
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--json"}), 7);
  EXPECT_EQ(results_, "");
  EXPECT_THAT(notes_, HasSubstr("it worked longer"));
}

TEST_F(VerbAnalyzeTest, AnAnswerThatMakesNoSenseIsRefused) {
  const auto refuses = [this](const char* why) {
    EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--json"}), 10) << why;
    EXPECT_THAT(notes_, HasSubstr(why));
    messages_ = WholeAnswer();
  };
  messages_.erase(messages_.begin());
  refuses("no header");
  messages_[2].mutable_batch()->set_table(2);
  refuses("rows of a table that it has not");
  messages_[2].mutable_batch()->set_rows(3);
  refuses("a column with too few values");
  messages_[2].mutable_batch()->mutable_columns()->RemoveLast();
  refuses("a batch with other columns");
  messages_[1].mutable_facts()->clear_values();
  refuses("other facts than it told");
  messages_.push_back(messages_.front());
  refuses("something after the end");
  EXPECT_EQ(results_, "");
  messages_.pop_back();
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--json"}), 1);
  EXPECT_THAT(notes_, HasSubstr("kprofd ended the answer before its end"));
  messages_ = WholeAnswer();
  EXPECT_EQ(Kprofctl({"analyze", "moon-phase", "@last", "--json"}), 0);
  EXPECT_NE(results_, "");
}

}  // namespace
}  // namespace kprof::cli
