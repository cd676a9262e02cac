#include "daemon/analysis/functions/communication/matched_collectives.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

struct Timed {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  CollectiveKind kind = CollectiveKind::kAllReduce;
};

// Without groups, on one stream.
Communicator RankOf(int64_t number, const std::vector<Timed>& timed) {
  Communicator rank{static_cast<size_t>(number), number, {}};
  for (const Timed& one : timed) {
    CommunicationCall call;
    call.begin_ns = one.begin_ns;
    call.end_ns = one.end_ns;
    call.kind = one.kind;
    rank.calls.push_back(call);
  }
  return rank;
}

MatchedCollectives Match(const std::vector<Communicator>& ranks) {
  MemoryCharge charge;
  return MatchCollectives(ranks, charge, StopSignal()).value();
}

std::vector<size_t> SizesOf(const MatchedCollectives& matched) {
  std::vector<size_t> sizes;
  for (const MatchedCollective& one : matched.collectives) sizes.push_back(one.members.size());
  return sizes;
}

TEST(MatchedCollectives, FollowTheOrderWhereNothingElseIsKnown) {
  const MatchedCollectives matched =
      Match({RankOf(0, {{0, 1000}, {2000, 3000}}), RankOf(1, {{500, 1000}, {2500, 3000}})});
  EXPECT_EQ(SizesOf(matched), (std::vector<size_t>{2, 2}));
  EXPECT_EQ(matched.clocks[0].state, ClockState::kCommon);
  EXPECT_EQ(matched.clocks[1].offset_ns, 0);
}

TEST(MatchedCollectives, ARankThatBeganLaterIsShifted) {
  // All are of one kind: the ends tell, which come at irregular times.
  const std::vector<Timed> all = {
      {0, 1'000'000}, {1'300'000, 2'100'000}, {2'200'000, 5'000'000}, {5'500'000, 6'100'000}};
  const MatchedCollectives matched =
      Match({RankOf(0, all), RankOf(1, {all[1], all[2], all[3], {7'000'000, 9'000'000}})});
  EXPECT_EQ(SizesOf(matched), (std::vector<size_t>{1, 2, 2, 2, 1}));
}

TEST(MatchedCollectives, OtherKindsAtOnePlaceAreApart) {
  std::vector<Timed> all = {{0, 1000}, {2000, 3500}, {4000, 5000}, {7000, 9000}};
  const Communicator one = RankOf(0, all);
  all[2].kind = CollectiveKind::kBroadcast;
  EXPECT_EQ(SizesOf(Match({one, RankOf(1, all)})), (std::vector<size_t>{2, 2, 1, 1, 2}));
}

TEST(MatchedCollectives, AClockThatIsAheadIsFoundByTheEnds) {
  constexpr int64_t kAheadNs = 3'000'000;
  const std::vector<Timed> one = {{0, 1'000'000}, {2'000'000, 2'400'000}, {5'000'000, 5'700'000}};
  std::vector<Timed> other = one;
  for (Timed& call : other) {
    call.begin_ns += kAheadNs + 100'000;  // it is late by that
    call.end_ns += kAheadNs;
  }
  const MatchedCollectives matched = Match({RankOf(0, one), RankOf(1, one), RankOf(2, other)});
  EXPECT_EQ(matched.clocks[2].state, ClockState::kEstimated);
  EXPECT_EQ(matched.clocks[2].offset_ns - matched.clocks[0].offset_ns, kAheadNs);
  ASSERT_EQ(matched.collectives.size(), 3U);
  const std::vector<CollectiveMember>& members = matched.collectives[0].members;
  EXPECT_EQ(members[2].begin_ns - members[0].begin_ns, 100'000);
  EXPECT_EQ(members[2].end_ns, members[0].end_ns);
}

TEST(MatchedCollectives, SequenceNumbersMatchWhateverTheOrder) {
  std::vector<Communicator> ranks = {RankOf(0, {{0, 1000}, {2000, 3000}}), RankOf(1, {{2000, 3000}, {4000, 5000}})};
  for (Communicator& rank : ranks) {
    for (size_t i = 0; i < rank.calls.size(); ++i) {
      rank.calls[i].group = 1;
      rank.calls[i].sequence = static_cast<int64_t>(i) + rank.number;
    }
  }
  EXPECT_EQ(SizesOf(Match(ranks)), (std::vector<size_t>{1, 2, 1}));
}

TEST(MatchedCollectives, OneRankKnowsNothingOfClocks) {
  const MatchedCollectives matched = Match({RankOf(0, {{0, 1000}})});
  EXPECT_EQ(SizesOf(matched), (std::vector<size_t>{1}));
  EXPECT_EQ(matched.clocks[0].state, ClockState::kUnknown);
  EXPECT_TRUE(Match({}).collectives.empty());
}

TEST(CollectiveNames, ManyNamesAreOneKind) {
  using enum CollectiveKind;
  const std::vector<std::pair<const char*, CollectiveKind>> names = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kAllReduce},
      {"_allgather_base", kAllGather},
      {"reduce_scatter_tensor_coalesced", kReduceScatter},
      {"all_to_allv", kAllToAll},
      {"broadcast", kBroadcast},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", kSendReceive},
      {"recv 0<-1", kSendReceive},
      {"gather", kGather},
      {"void vllm::cross_device_reduce_1stage<__half, 8>", kAllReduce},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", kAllReduce},
      {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", kOther},
  };
  for (const auto& [name, kind] : names) EXPECT_EQ(KindOfCollective(name), kind) << name;
}

TEST(CollectiveNames, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveKind::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveKind::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveKind::kAllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveKind::kBroadcast, 4), 1);
  EXPECT_FALSE(BusFactor(CollectiveKind::kOther, 4));
}

}  // namespace
}  // namespace kprof
