#include "daemon/analysis/functions/communication/collective_facts.h"

#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

// The bytes that nccl-tests counts: of the whole result, or of the whole of what is scattered.
std::optional<int64_t> BytesOfCall(const CommunicationCall& call, int64_t ranks) {
  const auto all_of = [ranks](const std::optional<int64_t>& whole,
                              const std::optional<int64_t>& piece) -> std::optional<int64_t> {
    if (whole) return whole;
    if (!piece || *piece > kLastTimeNs / std::max<int64_t>(ranks, 1)) return std::nullopt;
    return *piece * ranks;
  };
  if (call.kind == CollectiveKind::kAllGather) return all_of(call.out_bytes, call.in_bytes);
  if (call.kind == CollectiveKind::kReduceScatter) return all_of(call.in_bytes, call.out_bytes);
  if (!call.in_bytes || !call.out_bytes) return call.in_bytes ? call.in_bytes : call.out_bytes;
  return std::max(*call.in_bytes, *call.out_bytes);
}

// How many ranks take part. Where no group is told, and all ranks that communicate show it, it is one of the whole job:
// the others have no trace.
int64_t CountRanks(const RunCommunication& run, const MatchedCollective& one, const CollectiveFacts& facts) {
  const auto shown = static_cast<int64_t>(one.members.size());
  if (facts.group_size) return *facts.group_size;
  const bool is_of_all = facts.call->group == 0 && one.members.size() == run.communicating && !run.are_devices;
  return is_of_all ? std::max(run.world_size, shown) : shown;
}

// The numbers of a list: "[0, 1, 2, 3]". One that is cut short has the numbers that are left.
std::set<int64_t> NumbersOfList(std::string_view list) {
  std::set<int64_t> numbers;
  while (!list.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
    if (error == std::errc() && number >= 0) numbers.insert(number);
    list.remove_prefix(std::max<size_t>(static_cast<size_t>(end - list.data()), 1));
  }
  return numbers;
}

// True if its ranks are on several nodes. Nothing: not known, also where all that are seen are on one, and others are
// not seen.
std::optional<bool> IsBetweenNodes(const RunCommunication& run, const MatchedCollective& one,
                                   const CollectiveFacts& facts, std::string_view group_ranks) {
  std::set<std::string> nodes;
  std::set<int64_t> ranks;
  for (const CollectiveMember& member : one.members) {
    nodes.insert(run.hosts[member.rank]);
    ranks.insert(run.ranks[member.rank].number);
  }
  if (run.ranks_per_node && !run.are_devices) {
    if (run.world_size > 0 && run.world_size <= *run.ranks_per_node) return false;
    if (facts.ranks > *run.ranks_per_node) return true;
    for (const int64_t rank : NumbersOfList(group_ranks)) {
      nodes.insert(std::to_string(rank / *run.ranks_per_node));
      ranks.insert(rank);
    }
  }
  if (nodes.contains("")) return std::nullopt;
  if (nodes.size() > 1) return true;
  const size_t seen = run.are_devices ? one.members.size() : ranks.size();
  const bool are_all = seen > 1 && static_cast<int64_t>(seen) >= facts.ranks;
  return are_all ? std::optional<bool>(false) : std::nullopt;
}

}  // namespace

CollectiveFacts FactsOfCollective(const RunCommunication& run, const MatchedCollective& one, const TextNumbers& texts) {
  CollectiveFacts facts;
  const auto call_of = [&run](const CollectiveMember& member) -> const CommunicationCall& {
    return run.ranks[member.rank].calls[member.call];
  };
  facts.call = &call_of(one.members.front());
  for (const CollectiveMember& member : one.members) {
    if (call_of(member).group_size) facts.group_size = call_of(member).group_size;
  }
  facts.ranks = CountRanks(run, one, facts);
  std::vector<int64_t> begins;
  for (size_t i = 0; i < one.members.size(); ++i) {
    const CollectiveMember& member = one.members[i];
    begins.push_back(member.begin_ns);
    if (member.begin_ns > one.members[facts.last].begin_ns) facts.last = i;
    facts.last_end_ns = i == 0 ? member.end_ns : std::max(facts.last_end_ns, member.end_ns);
    facts.longest_ns = std::max(facts.longest_ns, member.length_ns());
    const std::optional<int64_t> bytes = BytesOfCall(call_of(member), facts.ranks);
    if (bytes) facts.bytes = std::max(facts.bytes.value_or(0), *bytes);
  }
  std::sort(begins.begin(), begins.end());
  facts.first_begin_ns = begins.front();
  facts.last_begin_ns = begins.back();
  facts.before_last_ns = begins.size() > 1 ? begins[begins.size() - 2] : begins.back();
  for (const CollectiveMember& member : one.members) facts.wait_ns = SaturatingSum(facts.wait_ns, facts.WaitOf(member));
  facts.between_nodes = IsBetweenNodes(run, one, facts, texts.TextOf(facts.call->group_ranks));
  if (facts.call->between_nodes) facts.between_nodes = facts.call->between_nodes;
  for (const CollectiveMember& member : one.members) facts.has_times &= call_of(member).has_times;
  return facts;
}

}  // namespace kprof
