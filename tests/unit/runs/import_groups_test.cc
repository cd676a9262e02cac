#include "daemon/runs/imports/import_groups.h"

#include <gtest/gtest.h>

#include <utility>

namespace kprof {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kDayOneNs = int64_t{1'700'000'000} * kSecondNs;

// A source that says nothing.
GroupedSource Mute(std::string name, std::optional<int64_t> at_s = std::nullopt) {
  GroupedSource source;
  source.name = std::move(name);
  if (at_s) source.facts.start_unix_ns = kDayOneNs + *at_s * kSecondNs;
  return source;
}
GroupedSource Of(std::string name, int64_t rank, std::optional<int64_t> world_size,
                 std::optional<int64_t> at_s = std::nullopt) {
  GroupedSource source = Mute(std::move(name), at_s);
  source.facts.rank = rank;
  source.facts.world_size = world_size;
  return source;
}
GroupedSource OfJob(std::string name, std::string job, int64_t rank, std::optional<int64_t> at_s = std::nullopt) {
  GroupedSource source = Of(std::move(name), rank, std::nullopt, at_s);
  source.facts.job = std::move(job);
  return source;
}

// "0 2=1 | 1": the sources of each run, and the ranks that joined by name.
std::string SortedRuns(const std::vector<GroupedSource>& sources) {
  std::string text;
  for (const SourceGroup& group : GroupSources(sources)) {
    text += text.empty() ? "" : "| ";
    for (const SourceGroup::Member& member : group.members) {
      text += std::to_string(member.source);
      if (member.joined_as) text += "=" + std::to_string(*member.joined_as);
      text += ' ';
    }
  }
  return text;
}

TEST(GroupSources, PutsTheRanksOfOneJobIntoOneRun) {
  EXPECT_EQ(SortedRuns({Of("a", 3, 4), Of("b", 1, 4), Of("c", 0, 4), Of("d", 2, 4)}), "0 1 2 3 ");
  EXPECT_EQ(SortedRuns({Of("host1/a", 0, 4, 0), Of("host2/b", 1, 4, 1), Of("host3/c", 2, 4, 2)}), "0 1 2 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, std::nullopt), Of("b", 1, std::nullopt)}), "0 1 ");
}

TEST(GroupSources, KeepsApartJobsOfOtherIdsAndOtherSizes) {
  EXPECT_EQ(SortedRuns({OfJob("a", "7", 0), OfJob("b", "8", 1), OfJob("c", "7", 1), OfJob("d", "8", 0)}), "0 2 | 1 3 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Of("b", 1, 4), Of("c", 1, 2), Of("d", 2, 4)}), "0 2 | 1 3 ");
  GroupedSource gloo = Of("b", 1, 2);
  gloo.facts.backend = "gloo";
  GroupedSource nccl = Of("a", 0, 2);
  nccl.facts.backend = "nccl";
  EXPECT_EQ(SortedRuns({nccl, gloo}), "0 | 1 ");
}

TEST(GroupSources, KeepsApartJobsWhoseGroupsContradictEachOther) {
  const auto in_group = [](std::string name, int64_t rank, std::vector<int64_t> ranks) {
    GroupedSource source = Of(std::move(name), rank, 4);
    source.facts.groups = {{.name = "1", .kind = "tp", .ranks = std::move(ranks)}};
    return source;
  };
  EXPECT_EQ(SortedRuns({in_group("a", 0, {0, 1}), in_group("b", 1, {1, 2}), in_group("c", 1, {0, 1})}), "0 2 | 1 ");
  // One name of two groups, as when a group is split.
  EXPECT_EQ(SortedRuns({in_group("a", 0, {0, 1}), in_group("b", 2, {2, 3}), in_group("c", 3, {2, 3})}), "0 1 2 ");
}

TEST(GroupSources, MakesARunOfEachTimeThatARankWasProfiled) {
  // Three cycles of each of two ranks, in any order.
  EXPECT_EQ(SortedRuns({Of("r0_1", 0, 2, 0), Of("r0_2", 0, 2, 20), Of("r0_3", 0, 2, 40), Of("r1_1", 1, 2, 1),
                        Of("r1_2", 1, 2, 19), Of("r1_3", 1, 2, 41)}),
            "0 3 | 1 4 | 2 5 ");
  EXPECT_EQ(SortedRuns({Of("c1", 0, 1, 0), Of("c2", 0, 1, 20)}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({OfJob("c1", "7", 0, 0), OfJob("c2", "7", 0, 20)}), "0 | 1 ");
}

TEST(GroupSources, KeepsApartWhatIsHoursApartUnlessItIsOfOneJobById) {
  EXPECT_EQ(SortedRuns({Of("a", 0, 2, 0), Of("b", 1, 2, 7200)}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({OfJob("a", "7", 0, 0), OfJob("b", "7", 1, 7200)}), "0 1 ");
}

TEST(GroupSources, ComparesTimesOfWhichTheQuarterIsNotSaid) {
  const auto of_quarter = [](std::string name, int64_t rank, int64_t at_s) {
    GroupedSource source = Of(std::move(name), rank, 4);
    source.facts.start_of_quarter_ns = kDayOneNs % kQuarterNs + at_s * kSecondNs;
    return source;
  };
  EXPECT_EQ(SortedRuns({of_quarter("a", 0, 0), of_quarter("b", 1, 2), Of("c", 2, 4, 1), of_quarter("d", 0, 30),
                        of_quarter("e", 1, 31)}),
            "0 1 2 | 3 4 ");
  EXPECT_EQ(SortedRuns({of_quarter("a", 0, 0), Of("b", 1, 4, 7200)}), "0 | 1 ");
}

TEST(GroupSources, TakesWhatLiesInOneFolderForOneJobFirst) {
  EXPECT_EQ(SortedRuns({Of("x/rank0.json", 0, 2), Of("x/rank1.json", 1, 2), Of("y/rank0.json", 0, 2),
                        Of("y/rank1.json", 1, 2)}),
            "0 1 | 2 3 ");
  EXPECT_EQ(SortedRuns({Of("x/rank0/t.json", 0, 2), Of("y/rank0/t.json", 0, 2), Of("y/rank1/t.json", 1, 2),
                        Of("x/rank1/t.json", 1, 2)}),
            "0 3 | 1 2 ");
}

TEST(GroupSources, TakesAMuteSourceIntoTheJobBesideItWhenItsNameGivesAFreeRank) {
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 4), Of("b.json", 1, 4), Mute("rank3.json")}), "0 1 2=3 ");
  EXPECT_EQ(SortedRuns({Of("t0.json", 0, 4), Of("t1.json", 1, 4), Mute("t2.json")}), "0 1 2=2 ");
  // Its rank is taken; is none of that job; its name gives none; or it is of another hour.
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 4), Of("b.json", 1, 4), Mute("rank1.json")}), "0 1 | 2 ");
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 2), Of("b.json", 1, 2), Mute("rank7.json")}), "0 1 | 2 ");
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 4), Of("b.json", 1, 4), Mute("c.json")}), "0 1 | 2 ");
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 4, 0), Mute("rank1.json", 7200)}), "0 | 1 ");
}

TEST(GroupSources, TakesAMuteSourceIntoTheNearestOfSeveralJobsOrNone) {
  const std::vector<GroupedSource> two = {OfJob("x/a.json", "7", 0), OfJob("y/a.json", "8", 0)};
  std::vector<GroupedSource> beside = two;
  beside.push_back(Mute("y/rank1.json"));
  EXPECT_EQ(SortedRuns(beside), "0 | 1 2=1 ");
  std::vector<GroupedSource> elsewhere = two;
  elsewhere.push_back(Mute("z/rank1.json"));
  EXPECT_EQ(SortedRuns(elsewhere), "0 | 1 | 2 ");
  EXPECT_EQ(SortedRuns({OfJob("a", "7", 0, 0), OfJob("b", "8", 0, 300), Mute("rank1.json", 290)}), "0 | 1 2=1 ");
}

TEST(GroupSources, GroupsMuteSourcesWhoseNamesSayTheirRanksAndNoOthers) {
  EXPECT_EQ(SortedRuns({Mute("worker2.json"), Mute("worker0.json"), Mute("worker1.json")}), "0 1 2 ");
  EXPECT_EQ(SortedRuns({Mute("rank0/t.json"), Mute("rank1/t.json")}), "0 1 ");
  EXPECT_EQ(SortedRuns({Mute("t_0.json"), Mute("t_1.json"), Mute("t_2.json")}), "0 1 2 ");
  EXPECT_EQ(SortedRuns({Mute("x_rank0.json"), Mute("x_rank1.json"), Mute("y_rank0.json"), Mute("y_rank1.json")}),
            "0 1 | 2 3 ");
  EXPECT_EQ(SortedRuns({Mute("0/trace.json"), Mute("1/trace.json")}), "0 1 ");
  EXPECT_EQ(SortedRuns({Mute("a.json"), Mute("b.json")}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({Mute("t_3.json"), Mute("t_7.json")}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({Mute("rank0.json", 0), Mute("rank1.json", 7200)}), "0 | 1 ");
}

TEST(GroupSources, ComparesNamesWithinTheirFolderAndTheirPattern) {
  std::vector<GroupedSource> sources = {Mute("compile.json")};
  for (int i = 0; i < 4; ++i) sources.push_back(Mute("trace_" + std::to_string(i) + ".json"));
  EXPECT_EQ(SortedRuns(sources), "0 | 1 2 3 4 ");
  EXPECT_EQ(SortedRuns({Mute("a/t_0"), Mute("a/t_1"), Mute("b/t_0"), Mute("b/t_1")}), "0 1 | 2 3 ");
  EXPECT_EQ(SortedRuns({Mute("t_1"), Mute("t_2"), Mute("t_3"), Mute("t_4")}), "0 1 2 3 ");
  EXPECT_EQ(SortedRuns({Mute("t_0"), Mute("t_2")}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({Mute("run1/t.json"), Mute("run2/t.json")}), "0 | 1 ");
}

TEST(GroupSources, NeverGivesARankToASourceThatSaysItsJobAlone) {
  const auto cycle = [](std::string name, int64_t at_s) {
    GroupedSource source = Mute(std::move(name), at_s);
    source.facts.job = "7";
    return source;
  };
  EXPECT_EQ(SortedRuns({cycle("c_0", 0), cycle("c_1", 20), cycle("c_2", 40)}), "0 | 1 | 2 ");
  EXPECT_EQ(SortedRuns({OfJob("a", "7", 0), cycle("b", 0)}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({cycle("a", 0), Mute("rank1.json", 0)}), "0 | 1 ");
  // Its name says it: by a word, or as the names of the others do.
  EXPECT_EQ(SortedRuns({cycle("rank0", 0), cycle("rank1", 0)}), "0 1 ");
  EXPECT_EQ(SortedRuns({OfJob("t0", "7", 0), OfJob("t1", "7", 1), cycle("t2", 0)}), "0 1 2=2 ");
}

GroupedSource Lines(std::string name, std::optional<int64_t> at_s = std::nullopt) {
  GroupedSource source = Mute(std::move(name), at_s);
  source.facts.joins_trace = true;
  return source;
}

TEST(GroupSources, PutsAProfileOfLinesToTheTraceOfItsRank) {
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Of("b", 1, 2), Lines("scalene_rank1.json")}), "0 1 2=1 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Of("b", 1, 2), Lines("p_0.json"), Lines("p_1.json")}), "0 1 2=0 3=1 ");
  // The only one there, whatever is known of its rank.
  EXPECT_EQ(SortedRuns({Of("a", 3, 8), Lines("scalene.json")}), "0 1 ");
  EXPECT_EQ(SortedRuns({Mute("a.json"), Lines("scalene.json")}), "0 1 ");
  EXPECT_EQ(SortedRuns({Mute("a.json"), Lines("scalene_rank0.json")}), "0 1 ");
  // In its folder, else near in time.
  EXPECT_EQ(SortedRuns({OfJob("x/a", "7", 0), OfJob("y/a", "8", 0), Lines("y/rank0.json")}), "0 | 1 2=0 ");
  EXPECT_EQ(SortedRuns({OfJob("x/a", "7", 0, 0), OfJob("y/a", "8", 0, 300), Lines("z/rank0.json", 299)}), "0 | 1 2=0 ");
}

TEST(GroupSources, MakesARunOfAProfileOfLinesThatBelongsToNoTrace) {
  EXPECT_EQ(SortedRuns({Lines("scalene.json")}), "0 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Of("b", 1, 2), Lines("scalene.json")}), "0 1 | 2 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Lines("scalene_rank1.json")}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({Of("a", 0, 2, 0), Lines("scalene.json", 7200)}), "0 | 1 ");
  EXPECT_EQ(SortedRuns({OfJob("x/a", "7", 0), OfJob("y/a", "8", 0), Lines("z/rank0.json")}), "0 | 1 | 2 ");
}

// A log of NCCL Inspector: its job is its largest communicator, and its name says no rank.
GroupedSource Log(std::string name, std::string communicator, int64_t rank) {
  GroupedSource source = OfJob(std::move(name), std::move(communicator), rank);
  source.facts.joins_trace = true;
  return source;
}

TEST(GroupSources, PutsALogOfCollectivesToTheTraceOfItsRank) {
  EXPECT_EQ(SortedRuns({Of("a", 0, 2), Of("b", 1, 2), Log("n-pid8.log", "0xa", 1), Log("n-pid9.log", "0xa", 0)}),
            "0 1 2=1 3=0 ");
}

TEST(GroupSources, MakesARunOfLogsOfOneCommunicator) {
  EXPECT_EQ(SortedRuns({Log("n-pid8.log", "0xa", 1), Log("m-pid8.log", "0xb", 0), Log("m-pid70.log", "0xa", 0)}),
            "0 2 | 1 ");
}

TEST(GroupSources, MakesOneRunOfTheTablesInAFolder) {
  const auto table = [](std::string name) {
    GroupedSource source = Mute(std::move(name));
    source.facts.is_table = true;
    return source;
  };
  EXPECT_EQ(SortedRuns({table("a/Summary.parquet"), table("b/Summary.parquet"), table("a/DmaPacket_0.parquet"),
                        table("a/DmaPacket_1.parquet")}),
            "0 2 3 | 1 ");
  EXPECT_EQ(SortedRuns({table("job/rank0/A.parquet"), table("job/rank1/A.parquet"), table("job/rank1/B.parquet")}),
            "0 1 2 ");
  EXPECT_EQ(SortedRuns({table("a/A.parquet"), Mute("a/trace.json")}), "0 | 1 ");
}

TEST(GroupSources, PutsCopiesToTheirOriginalsAndWhatIsNoTraceToTheRunOfItsFolder) {
  GroupedSource copy = Of("c.json", 0, 2);
  copy.copy_of = 1;
  GroupedSource none = Mute("y/settings.json");
  none.no_trace = true;
  EXPECT_EQ(SortedRuns({Of("a.json", 0, 4), Of("b.json", 0, 2), copy}), "0 | 1 2 ");
  EXPECT_EQ(SortedRuns({OfJob("x/a.json", "7", 0), OfJob("y/a.json", "8", 0), none}), "0 | 1 2 ");
  EXPECT_EQ(SortedRuns({none, none}), "0 1 ");
}

TEST(GroupSources, TakesTheRankThatWasAskedForBeforeTheOneThatIsSaid) {
  GroupedSource asked = Of("a", 0, 4);
  asked.rank = 1;
  EXPECT_EQ(SortedRuns({asked, Of("b", 0, 4)}), "0 1 ");
}

TEST(GroupSources, BearsAThousandSourcesOfTwoJobs) {
  std::vector<GroupedSource> sources;
  for (int64_t i = 0; i < 1024; ++i) {
    sources.push_back(Of("t" + std::to_string(i), i / 2, 512, i % 2 * 100));
    for (int64_t group = 0; group < 64; ++group) {
      sources.back().facts.groups.push_back({.name = std::to_string(group), .kind = "k", .ranks = {group, group + 64}});
    }
  }
  const std::vector<SourceGroup> runs = GroupSources(sources);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].members.size(), 512u);
}

}  // namespace
}  // namespace kprof
