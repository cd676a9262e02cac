#include "daemon/analysis/functions/communication/matched_collectives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kCommonClockNs = 20'000;  // offsets up to this are in the ends themselves, not in the clocks
constexpr size_t kLeastEnds = 2;            // one end alone may be late for another reason
constexpr int64_t kLeastCertainty = 4;      // an offset is so many times the distance of ends from it, or it is none
constexpr int kClockPasses = 20;
constexpr size_t kMostComparisons = size_t{1} << 22;  // of calls, when two ranks are aligned
constexpr int64_t kBytesOfCall = 64;

int64_t MedianOf(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// Two calls may be the same collective.
bool MayMatch(const CommunicationCall& a, const CommunicationCall& b) {
  if (a.kind != b.kind) return false;
  // The splits of an all-to-all differ from rank to rank.
  if (a.kind == CollectiveKind::kAllToAll || a.kind == CollectiveKind::kSendReceive) return true;
  return !a.in_bytes || !b.in_bytes || a.in_bytes == b.in_bytes;
}

// Calls of a rank that are in one order with those of other ranks.
struct Lane {
  uint32_t rank = 0;
  std::vector<uint32_t> calls;
};

class Matcher {
 public:
  explicit Matcher(std::span<const Communicator> ranks) : ranks_(ranks) {}

  void Match() {
    std::map<std::tuple<uint32_t, uint32_t, int64_t, CollectiveKind>, std::vector<CollectiveMember>> by_sequence;
    std::map<std::tuple<bool, uint32_t, uint32_t>, std::vector<Lane>> lanes;  // without a group: by place of stream
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      std::map<uint32_t, uint32_t> streams;
      for (const CommunicationCall& call : ranks_[rank].calls) {
        if (call.group == 0) streams.emplace(call.track, 0);
      }
      uint32_t place = 0;
      for (auto& [track, at] : streams) at = place++;
      for (uint32_t i = 0; i < ranks_[rank].calls.size(); ++i) {
        const CommunicationCall& call = ranks_[rank].calls[i];
        if (call.group != 0 && call.sequence) {
          by_sequence[{call.group, call.group_ranks, *call.sequence, call.kind}].push_back({rank, i, 0, 0});
          continue;
        }
        const auto key = call.group != 0 ? std::tuple(true, call.group, call.group_ranks)
                                         : std::tuple(false, streams[call.track], uint32_t{0});
        std::vector<Lane>& of_key = lanes[key];
        if (of_key.empty() || of_key.back().rank != rank) of_key.push_back({rank, {}});
        of_key.back().calls.push_back(i);
      }
    }
    for (auto& [key, members] : by_sequence) AddRepeated(members);
    for (const auto& [key, of_key] : lanes) AddLanes(of_key);
  }

  std::vector<MatchedCollective>& collectives() { return collectives_; }

 private:
  const CommunicationCall& CallOf(const CollectiveMember& member) const {
    return ranks_[member.rank].calls[member.call];
  }

  // A coalesced call has one sequence number for several kernels: the first goes with the first.
  void AddRepeated(const std::vector<CollectiveMember>& members) {
    std::vector<MatchedCollective> found;
    size_t at = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      at = i > 0 && members[i].rank == members[i - 1].rank ? at + 1 : 0;
      if (at == found.size()) found.emplace_back();
      found[at].members.push_back(members[i]);
    }
    collectives_.insert(collectives_.end(), found.begin(), found.end());
  }

  void AddLanes(const std::vector<Lane>& lanes) {
    size_t longest = 0;
    for (size_t i = 1; i < lanes.size(); ++i) {
      if (lanes[i].calls.size() > lanes[longest].calls.size()) longest = i;
    }
    // By the place in the longest lane; calls of one place that cannot be the same are apart.
    std::map<int64_t, std::vector<MatchedCollective>> places;
    const auto add = [&](int64_t place, const CollectiveMember& member) {
      std::vector<MatchedCollective>& there = places[place];
      for (MatchedCollective& one : there) {
        if (!MayMatch(CallOf(one.members.front()), CallOf(member))) continue;
        one.members.push_back(member);
        return;
      }
      there.push_back({{member}});
    };
    std::vector<int64_t> shifts(lanes.size(), 0);
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (i != longest) shifts[i] = FindShift(lanes[longest], lanes[i]);
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      for (size_t at = 0; at < lanes[i].calls.size(); ++at) {
        add(static_cast<int64_t>(at) + shifts[i], {lanes[i].rank, lanes[i].calls[at], 0, 0});
      }
    }
    for (auto& [place, there] : places) {
      for (MatchedCollective& one : there) collectives_.push_back(std::move(one));
    }
  }

  // lane[i] is the same collective as longest[i + shift].
  int64_t FindShift(const Lane& longest, const Lane& lane) const {
    const auto long_size = static_cast<int64_t>(longest.calls.size());
    const auto size = static_cast<int64_t>(lane.calls.size());
    const int64_t tried = std::max<int64_t>(static_cast<int64_t>(kMostComparisons) / std::max<int64_t>(size, 1), 1);
    const int64_t first = std::max(1 - size, -tried / 2);
    const int64_t last = std::min(long_size - 1, std::max(tried / 2, long_size - size));
    struct Tried {
      int64_t shift = 0;
      int64_t agreeing = 0;
      int64_t differing = 0;
      int64_t cost_ns = 0;
    };
    std::vector<Tried> all;
    int64_t most = 0;
    std::vector<int64_t> apart;
    for (int64_t shift = first; shift <= last; ++shift) {
      Tried one{.shift = shift};
      apart.clear();
      for (int64_t i = std::max<int64_t>(0, -shift); i < size && i + shift < long_size; ++i) {
        const CommunicationCall& a = ranks_[longest.rank].calls[longest.calls[static_cast<size_t>(i + shift)]];
        const CommunicationCall& b = ranks_[lane.rank].calls[lane.calls[static_cast<size_t>(i)]];
        if (!MayMatch(a, b)) {
          ++one.differing;
          continue;
        }
        ++one.agreeing;
        apart.push_back(b.end_ns - a.end_ns);
      }
      if (apart.empty()) continue;
      const int64_t median = MedianOf(apart);
      for (int64_t& value : apart) value = std::abs(value - median);
      // Ends apart by the same time, whatever it is, count more than ends close together: clocks may differ.
      constexpr int64_t kWeight = 8;
      one.cost_ns = kWeight * std::min(MedianOf(apart), kLastTimeNs / kWeight / 2) + std::abs(median);
      most = std::max(most, one.agreeing - one.differing);
      all.push_back(one);
    }
    // Times decide among those that agree about as much as any: the order alone cannot tell one all-reduce of many.
    const Tried* best = nullptr;
    for (const Tried& one : all) {
      if (2 * (one.agreeing - one.differing) < most) continue;
      if (best == nullptr || std::tie(one.cost_ns, one.differing) < std::tie(best->cost_ns, best->differing))
        best = &one;
    }
    return best == nullptr ? 0 : best->shift;
  }

  const std::span<const Communicator> ranks_;
  std::vector<MatchedCollective> collectives_;
};

bool HaveTimes(std::span<const Communicator> ranks, const MatchedCollective& one) {
  return std::all_of(one.members.begin(), one.members.end(),
                     [&](const CollectiveMember& member) { return ranks[member.rank].calls[member.call].has_times; });
}

// The lengths stay.
void MakeTimes(std::span<const Communicator> ranks, MatchedCollective& one) {
  const bool ends = EndsTogether(ranks[one.members.front().rank].calls[one.members.front().call].kind);
  int64_t begin = one.members.front().begin_ns;
  int64_t longest = 0;
  for (const CollectiveMember& member : one.members) {
    begin = std::min(begin, member.begin_ns);
    longest = std::max(longest, member.length_ns());
  }
  for (CollectiveMember& member : one.members) {
    const int64_t length = member.length_ns();
    member.begin_ns = ends ? begin + (longest - length) : begin;
    member.end_ns = member.begin_ns + length;
  }
}

std::vector<RankClock> FindClocks(std::span<const Communicator> ranks,
                                  const std::vector<MatchedCollective>& collectives) {
  std::vector<RankClock> clocks(ranks.size());
  std::vector<int64_t> offsets(ranks.size(), 0);
  std::vector<std::vector<int64_t>> late(ranks.size());
  std::vector<int64_t> ends;
  const auto measure = [&] {
    for (std::vector<int64_t>& of_rank : late) of_rank.clear();
    for (const MatchedCollective& one : collectives) {
      const CommunicationCall& first = ranks[one.members.front().rank].calls[one.members.front().call];
      if (one.members.size() < 2 || !EndsTogether(first.kind) || !HaveTimes(ranks, one)) continue;
      ends.clear();
      for (const CollectiveMember& member : one.members) {
        ends.push_back(ranks[member.rank].calls[member.call].end_ns - offsets[member.rank]);
      }
      std::vector<int64_t> sorted = ends;
      const int64_t median = MedianOf(sorted);
      for (size_t i = 0; i < ends.size(); ++i) late[one.members[i].rank].push_back(ends[i] - median);
    }
  };
  for (int pass = 0; pass < kClockPasses; ++pass) {
    measure();
    bool has_moved = false;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (late[rank].empty()) continue;
      const int64_t move = MedianOf(late[rank]);
      offsets[rank] = std::clamp(offsets[rank] + move, -2 * kLastCallNs, 2 * kLastCallNs);
      has_moved |= move != 0;
    }
    if (!has_moved) break;
  }
  // Nobody's clock is right: the offset of most is taken for none.
  std::vector<int64_t> known;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!late[rank].empty()) known.push_back(offsets[rank]);
  }
  if (known.empty()) {
    bool is_one_part = ranks.size() > 1;
    for (const Communicator& rank : ranks) is_one_part &= rank.part == ranks.front().part;
    for (RankClock& clock : clocks) clock.state = is_one_part ? ClockState::kCommon : ClockState::kUnknown;
    return clocks;
  }
  const int64_t middle = MedianOf(known);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (late[rank].empty()) continue;
    offsets[rank] -= middle;
    std::vector<int64_t>& apart = late[rank];
    for (int64_t& value : apart) value = std::abs(value);
    const int64_t error = MedianOf(apart);
    const int64_t offset = std::abs(offsets[rank]);
    const bool is_sure = apart.size() >= kLeastEnds && error <= offset / kLeastCertainty;
    clocks[rank].state = is_sure ? ClockState::kEstimated : ClockState::kUnknown;
    if (offset <= kCommonClockNs) clocks[rank].state = ClockState::kCommon;
    if (clocks[rank].state != ClockState::kEstimated) offsets[rank] = 0;
    clocks[rank].offset_ns = offsets[rank];
  }
  measure();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (late[rank].empty()) continue;
    for (int64_t& value : late[rank]) value = std::abs(value);
    clocks[rank].error_ns = MedianOf(late[rank]);
  }
  return clocks;
}

}  // namespace

Result<MatchedCollectives> MatchCollectives(std::span<const Communicator> ranks, MemoryCharge& charge,
                                            const StopSignal& stop) {
  int64_t calls = 0;
  for (const Communicator& rank : ranks) calls += static_cast<int64_t>(rank.calls.size());
  RETURN_IF_ERROR(charge.Grow(calls * kBytesOfCall));
  RETURN_IF_ERROR(StillWanted(stop));
  Matcher matcher(ranks);
  matcher.Match();
  RETURN_IF_ERROR(StillWanted(stop));
  MatchedCollectives matched;
  matched.clocks = FindClocks(ranks, matcher.collectives());
  matched.collectives = std::move(matcher.collectives());
  for (MatchedCollective& one : matched.collectives) {
    for (CollectiveMember& member : one.members) {
      const CommunicationCall& call = ranks[member.rank].calls[member.call];
      member.begin_ns = call.begin_ns - matched.clocks[member.rank].offset_ns;
      member.end_ns = call.end_ns - matched.clocks[member.rank].offset_ns;
    }
    if (!HaveTimes(ranks, one)) MakeTimes(ranks, one);
    std::sort(one.members.begin(), one.members.end(),
              [](const CollectiveMember& a, const CollectiveMember& b) { return a.rank < b.rank; });
  }
  const auto begin_of = [](const MatchedCollective& one) {
    int64_t begin = one.members.front().begin_ns;
    for (const CollectiveMember& member : one.members) begin = std::min(begin, member.begin_ns);
    return begin;
  };
  std::stable_sort(matched.collectives.begin(), matched.collectives.end(),
                   [&](const MatchedCollective& a, const MatchedCollective& b) { return begin_of(a) < begin_of(b); });
  return matched;
}

}  // namespace kprof
