#include "daemon/runs/imports/part_ranks.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(RankInName, IsTheNumberBehindRankWorkerOrR) {
  const std::pair<const char*, std::optional<int64_t>> cases[] = {
      {"worker3.json", 3},
      {"rank-34.json", 34},
      {"rank_3.pt.trace.json.gz", 3},
      {"r3.json", 3},
      {"Rank7.JSON", 7},
      {"node1_rank12.json", 12},
      {"gpu0-worker=5.json", 5},
      {"report3.json", std::nullopt},
      {"frank3.json", std::nullopt},
      {"trace_0.json", std::nullopt},
      {"rank.json", std::nullopt},
      {"rank12345678901234567890.json", std::nullopt},
      {"", std::nullopt},
      {"rank3/trace.json", 3},
      {"rank3/worker4.json", 4},
      {"rank3/gpu/trace.json", std::nullopt},
      {"/rank3/trace.json", 3},
      {"trace-r3.pt.trace.json", 3},
      {"trace_r_3_gpu.json", 3},
      {"r3x.json", std::nullopt},
      {"r3_r4.json", 4},
      {"rank7_r50.json", 7},
      {"r50_rank7.json", 7},
      {"rank3/r4.json", 4},
  };
  for (const auto& [name, rank] : cases) {
    const std::optional<NamedRank> named = RankInName(name);
    EXPECT_EQ(named ? std::optional(named->rank) : std::nullopt, rank) << name;
  }
}

TEST(RanksInNames, AreNoneBehindAnRWhereTwoHaveTheSame) {
  using Ranks = std::vector<std::optional<int64_t>>;
  const std::optional<int64_t> none;
  EXPECT_EQ(RanksInNames({"r50_resnet_a.json", "r50_resnet_b.json"}), (Ranks{none, none}));
  EXPECT_EQ(RanksInNames({"r50_resnet_a.json", "r50_resnet_b.json", "r101_resnet.json", "rank3.json"}),
            (Ranks{none, none, none, 3}));
  EXPECT_EQ(RanksInNames({"r0.json", "r1.json", "x.json"}), (Ranks{0, 1, none}));
  EXPECT_EQ(RanksInNames({"rank3_a.json", "rank3_b.json", "r5.json"}), (Ranks{3, 3, 5}));
}

TEST(RanksInWhichNamesDiffer, AreTheOneNumberThatIsAnotherInEach) {
  using Ranks = std::vector<std::optional<int64_t>>;
  const std::optional<int64_t> none;
  EXPECT_EQ(RanksInWhichNamesDiffer({"trace_2.json", "trace_10.json"}), (Ranks{2, 10}));
  EXPECT_EQ(RanksInWhichNamesDiffer({"0/trace.json", "01/trace.json"}), (Ranks{0, 1}));
  EXPECT_EQ(RanksInWhichNamesDiffer({"7", "8", "9"}), (Ranks{7, 8, 9}));
  EXPECT_EQ(RanksInWhichNamesDiffer({"gpu0_step100.json", "gpu1_step100.json"}), (Ranks{0, 1}));
  const std::vector<std::vector<std::string_view>> others = {
      {"a0_1", "a1_2"}, {"a0", "b1"},       {"a", "a"}, {"a", "a1"},
      {"a1", "a01"},    {"a1", "a2", "a1"}, {"", ""},   {"1700000000", "1700000001"}};
  for (const auto& names : others) {
    EXPECT_EQ(RanksInWhichNamesDiffer(names), Ranks(names.size(), none)) << names[0] << ' ' << names[1];
  }
  EXPECT_EQ(RanksInWhichNamesDiffer({"a1"}), Ranks{none});
}

std::string Text(const std::vector<PartRank>& parts) {
  std::string text;
  for (const PartRank& part : parts) text += part.part + (part.warning.empty() ? " " : "! ");
  return text;
}

TEST(RanksOf, LeavesASingleSourceWithoutOneWhereNobodySaysIt) {
  EXPECT_EQ(Text(RanksOf({{"rank3.json", std::nullopt}})), "trace ");
  EXPECT_EQ(Text(RanksOf({{"a.json", 3}})), "rank3 ");
}

TEST(RanksOf, TakesWhatIsKnownThenTheNameThenTheOrder) {
  EXPECT_EQ(Text(RanksOf({{"x.json", std::nullopt}, {"rank0.json", 5}, {"rank1.json", std::nullopt}})),
            "rank0! rank5 rank1 ");
  EXPECT_EQ(Text(RanksOf({{"x", std::nullopt}, {"y", std::nullopt}, {"r0", std::nullopt}})), "rank1! rank2 rank0 ");
}

TEST(RanksOf, TakesTheNumberInWhichNamesDifferBeforeTheOrder) {
  EXPECT_EQ(Text(RanksOf({{"t1.json", std::nullopt}, {"t10.json", std::nullopt}, {"t2.json", std::nullopt}})),
            "rank1 rank10 rank2 ");
  EXPECT_EQ(Text(RanksOf({{"t1.json", std::nullopt}, {"x.json", 1}, {"t2.json", std::nullopt}})),
            "rank0! rank1 rank2 ");
}

TEST(RanksOf, SaysOnceThatRanksAreButTheOrderOfTheFiles) {
  const std::vector<PartRank> parts = RanksOf({{"a", std::nullopt}, {"b", 0}, {"c", std::nullopt}});
  EXPECT_EQ(Text(parts), "rank1! rank0 rank2 ");
  EXPECT_EQ(
      parts[0].warning,
      "neither it nor its name says its rank, and so it is with 1 more: they are numbered in the order of the files");
}

TEST(RanksOf, SaysSoAlsoOfTheOnlyOneThatIsLeftOver) {
  const std::vector<PartRank> parts = RanksOf({{"a", 0}, {"b", std::nullopt}, {"c", 1}});
  EXPECT_EQ(Text(parts), "rank0 rank2! rank1 ");
  EXPECT_STREQ(parts[1].code, "rank_by_order");
  EXPECT_EQ(parts[1].warning, "neither it nor its name says its rank: it is taken for rank 2, the lowest that is left");
}

TEST(RanksOf, TakesNoRankFromNamesThatHaveTheSameBehindAnR) {
  EXPECT_EQ(Text(RanksOf({{"r50_resnet_a.json", std::nullopt}, {"r50_resnet_b.json", std::nullopt}})), "rank0! rank1 ");
}

TEST(RanksOf, MakesAPartOfARankOfWhatJoinsItsTrace) {
  const SourceRank lines{"lines", std::nullopt, true};
  EXPECT_EQ(Text(RanksOf({{"a", 0}, {"b", 1}, {"lines_rank1", std::nullopt, true}})), "rank0 rank1 rank1_2 ");
  EXPECT_EQ(Text(RanksOf({lines, {"a", 3}})), "rank3_2 rank3 ");
  EXPECT_EQ(Text(RanksOf({{"a", std::nullopt}, lines, {"more_rank0", std::nullopt, true}})), "trace trace_2 trace_3 ");
  EXPECT_EQ(Text(RanksOf({lines})), "trace ");
  const std::vector<PartRank> parts = RanksOf({{"a", 0}, {"b", 1}, lines});
  EXPECT_EQ(Text(parts), "rank0 rank1 rank0_2! ");
  EXPECT_STREQ(parts[2].code, "rank_by_order");
  EXPECT_EQ(parts[2].warning, "neither it nor its name says its rank: it is taken for that of 'a'");
}

TEST(RanksOf, MakesPartsOfOneRankOfTables) {
  const auto table = [](const char* name) { return SourceRank{name, std::nullopt, false, false, true}; };
  EXPECT_EQ(Text(RanksOf({table("a/Summary.parquet"), table("a/Metadata.parquet")})), "trace trace_2 ");
  EXPECT_EQ(Text(RanksOf({table("rank1/A.parquet"), table("rank1/B_0.parquet"), table("rank3/A.parquet")})),
            "rank1 rank1_2 rank3 ");
  EXPECT_EQ(Text(RanksOf({table("A.parquet"), {"profile.json", std::nullopt}})), "trace_2 trace ");
}

TEST(RanksOf, OfWhatJoinsATraceAloneAreThatOfTheOneThatLeads) {
  const SourceRank system{"system_profile.json", std::nullopt, true, true};
  const SourceRank lines{"scalene_profile.json", std::nullopt, true};
  for (const PartRank& part : RanksOf({system, lines})) EXPECT_EQ(part.rank, std::nullopt);
  EXPECT_EQ(Text(RanksOf({lines, system})), "trace_2 trace ");
  EXPECT_EQ(Text(RanksOf({{"a.json", std::nullopt, true}, {"b.json", std::nullopt, true}})), "rank0! rank1 ");
}

TEST(RanksOf, TakesNoExecutionForARank) {
  const auto profile = [](const char* name) { return SourceRank{name, std::nullopt, false, false, false, true}; };
  EXPECT_EQ(Text(RanksOf({profile("profile_exec_2.view.json"), profile("profile_exec_4.view.json")})), "exec2 exec4 ");
  EXPECT_EQ(Text(RanksOf({profile("profile_rank_0_exec_2.view.json"), profile("profile_rank_0_exec_4.view.json"),
                          profile("profile_rank_1_exec_2.view.json")})),
            "rank0_exec2 rank0_exec4 rank1_exec2 ");
  const std::vector<PartRank> parts = RanksOf({profile("b.view.json"), profile("profile_exec_4.view.json")});
  EXPECT_EQ(Text(parts), "trace exec4 ");
  EXPECT_EQ(parts[0].rank, std::nullopt);
  EXPECT_EQ(Text(RanksOf({profile("core0.json"), profile("core1.json")})), "rank0 rank1 ");
  EXPECT_EQ(Text(RanksOf({profile("p_exec_2.json"), profile("p_exec_2.json")})), "exec2 exec2_2 ");
  EXPECT_EQ(RanksInWhichNamesDiffer({"x_exec_2.json", "x_exec_4.json"}),
            (std::vector<std::optional<int64_t>>{std::nullopt, std::nullopt}));
}

TEST(RanksOf, MakesPartsOfOneRankOfThoseThatSayTheSameAndInventsNone) {
  const std::vector<PartRank> parts = RanksOf({{"a", 0}, {"b", 0}, {"c", 1}, {"d", 0}});
  EXPECT_EQ(Text(parts), "rank0 rank0_2! rank1 rank0_3! ");
  EXPECT_EQ(parts[1].rank, 0);
  EXPECT_STREQ(parts[1].code, "rank_twice");
  EXPECT_EQ(parts[1].warning, "it is of rank 0, as 'a' is: both are parts of that rank");
}

}  // namespace
}  // namespace kprof
