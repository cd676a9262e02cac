// Collectives across ranks: who was late, what it cost, how fast they were. Docs: docs/analyses/collectives.md.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/functions/communication/matched_collectives.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {
namespace {

enum CollectiveTable : size_t { kCollectiveRows, kRankSums, kStepSums, kMessageSums };

constexpr AnalysisOption kNodeOption[] = {
    {"ranks-per-node", AnalysisType::kInteger, "", "",
     "So many ranks are on a node, the first ones on the first; without it the nodes are those that the traces name",
     "", 1},
};

// The parts of one run.
struct RunParts {
  std::string run;
  std::vector<size_t> parts;
};

std::vector<RunParts> PartsOfRuns(const AnalysisTraces& traces) {
  std::vector<RunParts> all;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const RunParts& one) { return one.run == traces.run(part); });
    if (found != all.end()) {
      found->parts.push_back(part);
    } else {
      all.push_back({traces.run(part), {part}});
    }
  }
  for (RunParts& one : all) {
    std::stable_sort(one.parts.begin(), one.parts.end(),
                     [&](size_t a, size_t b) { return traces.parts()[a].rank < traces.parts()[b].rank; });
  }
  return all;
}

// "0, 3 to 7".
std::string ListOfNumbers(const std::set<int64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int64_t first = *at;
    int64_t last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(last);
  }
  return text;
}

std::string MillisecondsText(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f ms", static_cast<double>(ns) / 1e6);
  return text;
}

// How long compute kernels of a rank ran, in each of its steps; without steps, at all.
class StepLoads {
 public:
  struct Load {
    std::optional<int64_t> step;
    int64_t wall_ns = 0;
    int64_t compute_ns = 0;
    bool is_recorded = true;  // false: no compute and no communication; its work is not in the trace
  };

  StepLoads() = default;
  explicit StepLoads(std::vector<ProfilerStep> steps)
      : steps_(std::move(steps)), compute_ns_(steps_.size(), 0), communicates_(steps_.size(), 0) {
    std::sort(steps_.begin(), steps_.end(),
              [](const ProfilerStep& a, const ProfilerStep& b) { return a.begin_ns < b.begin_ns; });
    int64_t end = kFirstTimeNs;
    for (const ProfilerStep& step : steps_) ends_.push_back(end = std::max(end, step.end_ns));
  }

  // REQUIRES: none overlaps another, and they come in the order of time.
  void AddCompute(const Interval& piece) {
    if (all_ns_ == 0) first_ns_ = piece.begin_ns;
    last_ns_ = piece.end_ns;
    all_ns_ += piece.end_ns - piece.begin_ns;
    for (size_t at = FirstStepOf(piece); at < steps_.size() && steps_[at].begin_ns < piece.end_ns; ++at) {
      const int64_t begin = std::max(steps_[at].begin_ns, piece.begin_ns);
      compute_ns_[at] += std::max<int64_t>(std::min(steps_[at].end_ns, piece.end_ns) - begin, 0);
    }
  }

  void AddCommunication(const Interval& call) {
    for (size_t at = FirstStepOf(call); at < steps_.size() && steps_[at].begin_ns < call.end_ns; ++at) {
      communicates_[at] |= steps_[at].end_ns > call.begin_ns ? 1 : 0;
    }
  }

  std::vector<Load> loads() const {
    std::vector<Load> all;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const bool is_recorded = compute_ns_[i] > 0 || communicates_[i] != 0;
      all.push_back({steps_[i].number, steps_[i].end_ns - steps_[i].begin_ns, compute_ns_[i], is_recorded});
    }
    if (steps_.empty() && all_ns_ > 0) all.push_back({std::nullopt, last_ns_ - first_ns_, all_ns_});
    return all;
  }

 private:
  // The first step that may not be over when `piece` begins.
  size_t FirstStepOf(const Interval& piece) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), piece.begin_ns) - ends_.begin());
  }

  std::vector<ProfilerStep> steps_;  // by their begins
  std::vector<int64_t> ends_;        // the latest end up to each
  std::vector<int64_t> compute_ns_;
  std::vector<uint8_t> communicates_;
  int64_t all_ns_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
};

// A run as it is read.
struct RunCommunication {
  std::vector<Communicator> ranks;
  std::vector<std::vector<StepLoads>> loads;  // of each: of its parts
  std::vector<std::string> hosts;             // of each: the node; empty: not known
  int64_t world_size = 0;                     // 0: no part says it
  size_t communicating = 0;                   // ranks with a communication kernel
  std::optional<int64_t> ranks_per_node;      // as the caller says
  bool are_devices = false;                   // a number is a device: its part has no rank, or several devices
  bool have_groups = false;
  bool have_bases = true;  // all parts know the time of their base
};

// The name of the node that a part was made on, where its source says it.
std::string HostOf(const PartReader& reader) {
  for (const char* fact : {"source.hostname", "source.host_name", "host"}) {
    if (const std::optional<std::string> name = reader.TextFact(fact)) return *name;
  }
  return "";
}

// Of the parts of a run, or of the parts of one rank: their times count from the first base.
class RunReader {
 public:
  RunReader(const AnalysisTraces& traces, const DeviceScope& scope, std::optional<int64_t> ranks_per_node,
            const StopSignal& stop, TextNumbers& texts, MemoryCharge& charge)
      : traces_(traces), scope_(scope), ranks_per_node_(ranks_per_node), stop_(stop), texts_(texts), charge_(charge) {}

  // Traces and logs of NCCL Inspector tell of the same collectives: only one of the two counts. Logs do where they are
  // of more ranks, or where the traces have no communication.
  Result<RunCommunication> Read(const std::vector<size_t>& parts, AnalysisAnswer& answer) {
    std::vector<size_t> traces;
    std::vector<size_t> logs;
    for (const size_t part : parts) {
      (IsCollectiveLog(*traces_.parts()[part].reader) ? logs : traces).push_back(part);
    }
    if (logs.empty()) return ReadParts(traces, answer);
    if (traces.empty()) return ReadParts(logs, answer);
    const auto words = [&](const char* which) {
      answer.AddNote("traces and logs of NCCL Inspector tell of the same collectives: those of the " +
                     std::string(which) + " are told here");
    };
    if (logs.size() <= traces.size()) {
      AnalysisAnswer none(traces_);
      ASSIGN_OR_RETURN(const RunCommunication looked, ReadParts(traces, none));
      const bool communicates = std::any_of(looked.ranks.begin(), looked.ranks.end(),
                                            [](const Communicator& rank) { return !rank.calls.empty(); });
      if (communicates) {
        words("traces");
        return ReadParts(traces, answer);
      }
    }
    words("logs");
    return ReadParts(logs, answer);
  }

 private:
  Result<RunCommunication> ReadParts(const std::vector<size_t>& parts, AnalysisAnswer& answer) {
    RunCommunication run;
    run.ranks_per_node = ranks_per_node_;
    std::optional<int64_t> first;
    for (const size_t part : parts) {
      const std::optional<int64_t> base = BaseOf(part);
      run.have_bases &= base || parts.size() == 1;
      if (base && (!first || *base < *first)) first = base;
    }
    std::set<int64_t> broken;
    for (const size_t part : parts) {
      if (scope_.never(part)) continue;
      const Status read = ReadPart(part, FromBase(BaseOf(part), first), run);
      if (read.ok()) continue;
      if (read.code() != ErrorCode::kStorageBroken || parts.size() == 1) return read;
      if (traces_.parts()[part].rank) broken.insert(*traces_.parts()[part].rank);
      answer.AddTrust({"rank_unreadable", traces_.NameOf(part) + " is left out: " + read.why()});
    }
    for (Communicator& rank : run.ranks) {
      run.communicating += rank.calls.empty() ? 0 : 1;
      std::stable_sort(rank.calls.begin(), rank.calls.end(),
                       [](const CommunicationCall& a, const CommunicationCall& b) { return a.begin_ns < b.begin_ns; });
    }
    NoteMissing(run, parts, broken, answer);
    return run;
  }

  std::optional<int64_t> BaseOf(size_t part) const { return traces_.parts()[part].reader->IntegerFact("base_unix_ns"); }

  Status ReadPart(size_t part, int64_t from_first_ns, RunCommunication& run) {
    const TracePart& of = traces_.parts()[part];
    ASSIGN_OR_RETURN(std::vector<CommunicationCall> calls,
                     FindCommunicationCalls(traces_, part, scope_, stop_, texts_, charge_));
    ASSIGN_OR_RETURN(std::vector<ProfilerStep> steps, FindProfilerSteps(of, stop_));
    const int64_t from = scope_.from_ns(part).value_or(kFirstTimeNs);
    const int64_t to = scope_.to_ns(part).value_or(kLastTimeNs);
    std::erase_if(steps, [&](const ProfilerStep& step) { return step.begin_ns >= to || step.end_ns <= from; });
    const std::vector<TrackRow>& tracks = of.reader->tracks();
    std::map<std::optional<int64_t>, StepLoads>
        devices;  // those that communicate; of a rank without any: none is known
    for (const CommunicationCall& call : calls) {
      StepLoads& loads = devices.try_emplace(tracks[call.track].device, steps).first->second;
      loads.AddCommunication({call.begin_ns, call.end_ns});
    }
    const bool by_device = !of.rank || devices.size() > 1;
    if (devices.empty() && !by_device) devices.emplace(std::nullopt, StepLoads(steps));
    std::vector<StepLoads*> of_groups;
    std::map<std::optional<int64_t>, uint32_t> group_of;
    for (auto& [device, load] : devices) {
      group_of.emplace(device, static_cast<uint32_t>(of_groups.size()));
      of_groups.push_back(&load);
    }
    std::vector<uint32_t> groups;
    for (const TrackRow& track : tracks) {
      const auto found = group_of.find(track.device);
      const auto others = static_cast<uint32_t>(of_groups.size());
      groups.push_back(by_device ? (found == group_of.end() ? others : found->second) : 0);
    }
    const EventFilter filters[] = {scope_.WorkOf(part, KernelType::kCompute)};
    RETURN_IF_ERROR(SweepSlices(
        of, filters, groups, stop_,
        [&](uint32_t group, std::span<const std::vector<Interval>> pieces, std::span<const int64_t> /*slices*/) {
          if (group >= of_groups.size()) return;
          for (const Interval& piece : pieces[0]) of_groups[group]->AddCompute(piece);
        }));
    // All is read: from here on nothing fails.
    run.world_size = std::max(run.world_size, of.reader->IntegerFact("world_size").value_or(0));
    run.are_devices |= by_device && !devices.empty();
    std::map<std::optional<int64_t>, size_t> places;
    for (auto& [device, load] : devices) {
      const size_t place = by_device ? AddRank(run, part, device.value_or(0)) : PlaceOfRank(run, part, *of.rank);
      run.loads[place].push_back(std::move(load));
      places.emplace(device, place);
    }
    for (CommunicationCall& call : calls) {
      call.begin_ns = FromFirst(call.begin_ns, from_first_ns);
      call.end_ns = FromFirst(call.end_ns, from_first_ns);
      run.have_groups |= call.group != 0;
      run.ranks[places.at(tracks[call.track].device)].calls.push_back(call);
    }
    return OkStatus();
  }

  static int64_t FromBase(std::optional<int64_t> base, std::optional<int64_t> first) {
    return base && first ? SafeTime(*base) - SafeTime(*first) : 0;
  }

  static int64_t FromFirst(int64_t time_ns, int64_t from_first_ns) {
    return std::clamp(SafeTime(time_ns) + SafeTime(from_first_ns), -kLastCallNs, kLastCallNs);
  }

  size_t AddRank(RunCommunication& run, size_t part, int64_t number) const {
    run.ranks.push_back({part, number, {}});
    run.loads.emplace_back();
    const TracePart& of = traces_.parts()[part];
    if (!ranks_per_node_) {
      run.hosts.push_back(HostOf(*of.reader));
    } else {
      run.hosts.push_back(of.rank ? std::to_string(*of.rank / *ranks_per_node_) : "");
    }
    return run.ranks.size() - 1;
  }

  // Parts of one rank are stretches of its time. They follow each other here.
  size_t PlaceOfRank(RunCommunication& run, size_t part, int64_t rank) const {
    const bool is_last = !run.ranks.empty() && traces_.parts()[run.ranks.back().part].rank == rank;
    return is_last ? run.ranks.size() - 1 : AddRank(run, part, rank);
  }

  void NoteMissing(const RunCommunication& run, const std::vector<size_t>& parts, const std::set<int64_t>& broken,
                   AnalysisAnswer& answer) const {
    constexpr int64_t kMostRanks = 1 << 20;
    std::set<int64_t> there = broken;
    for (const size_t part : parts) {
      if (traces_.parts()[part].rank) there.insert(*traces_.parts()[part].rank);
    }
    if (run.world_size <= 1 || run.world_size > kMostRanks || there.empty()) return;
    std::set<int64_t> missing;
    for (int64_t rank = 0; rank < run.world_size; ++rank) {
      if (!there.contains(rank)) missing.insert(rank);
    }
    if (missing.empty()) return;
    answer.AddNote(std::to_string(missing.size()) + " of " + std::to_string(run.world_size) +
                   " ranks have no trace here: " + ListOfNumbers(missing) +
                   "; each of them may have been later than the last one seen");
  }

  const AnalysisTraces& traces_;
  const DeviceScope& scope_;
  const std::optional<int64_t> ranks_per_node_;
  const StopSignal& stop_;
  TextNumbers& texts_;
  MemoryCharge& charge_;
};

// A collective, seen by all of its ranks.
struct CollectiveFacts {
  const CommunicationCall* call = nullptr;  // of its first rank
  int64_t first_begin_ns = 0;
  int64_t last_begin_ns = 0;
  int64_t before_last_ns = 0;  // the begin of the last but one
  int64_t last_end_ns = 0;
  int64_t longest_ns = 0;
  size_t last = 0;  // of its members
  std::optional<int64_t> bytes;
  std::optional<int64_t> group_size;
  int64_t ranks = 0;  // of its group, also those that do not show it
  std::optional<bool> between_nodes;
  bool has_times = true;  // false: begins and ends are made up
  int64_t wait_ns = 0;

  int64_t transfer_ns() const { return std::max<int64_t>(last_end_ns - last_begin_ns, 0); }
};

int64_t WaitOf(const CollectiveMember& member, int64_t last_begin_ns) {
  return std::max<int64_t>(std::min(last_begin_ns, member.end_ns) - member.begin_ns, 0);
}

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

CollectiveFacts FactsOf(const RunCommunication& run, const MatchedCollective& one, const TextNumbers& texts) {
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
  for (const CollectiveMember& member : one.members)
    facts.wait_ns = SaturatingSum(facts.wait_ns, WaitOf(member, facts.last_begin_ns));
  facts.between_nodes = IsBetweenNodes(run, one, facts, texts.TextOf(facts.call->group_ranks));
  if (facts.call->between_nodes) facts.between_nodes = facts.call->between_nodes;
  for (const CollectiveMember& member : one.members) facts.has_times &= call_of(member).has_times;
  return facts;
}

AnalysisValue GbPerSecond(std::optional<double> factor, std::optional<int64_t> bytes, int64_t ns) {
  if (!factor || !bytes || ns <= 0) return AnalysisValue();
  return *factor * static_cast<double>(*bytes) / static_cast<double>(ns);
}

AnalysisValue TextOrNothing(const std::string& text) {
  return text.empty() ? AnalysisValue() : AnalysisValue(text);
}

AnalysisValue TruthOf(std::optional<bool> truth) {
  return truth ? AnalysisValue(int64_t{*truth ? 1 : 0}) : AnalysisValue();
}

struct RankSum {
  int64_t collectives = 0;
  int64_t matched = 0;
  int64_t communication_ns = 0;  // of those that are matched, here and below
  int64_t wait_ns = 0;
  int64_t times_last = 0;
  int64_t delay_ns = 0;        // after the last but one
  int64_t others_wait_ns = 0;  // for this rank
};

struct MessageKey {
  CollectiveKind kind = CollectiveKind::kOther;
  std::optional<bool> between_nodes;
  int size = 0;  // the power of two below it; -1: 0 bytes
  bool operator<(const MessageKey& other) const {
    return std::tie(kind, between_nodes, size) < std::tie(other.kind, other.between_nodes, other.size);
  }
};

struct MessageSum {
  int64_t count = 0;
  int64_t least_bytes = 0;
  int64_t most_bytes = 0;
  int64_t bytes = 0;
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
  double bus_bytes = 0;
};

// The answer about one run.
class RunAnswer {
 public:
  RunAnswer(std::string name, const RunCommunication& run, const MatchedCollectives& matched, const TextNumbers& texts,
            AnalysisAnswer& answer)
      : name_(std::move(name)), run_(run), matched_(matched), texts_(texts), answer_(answer), sums_(run.ranks.size()) {}

  Status Add() {
    for (const MatchedCollective& one : matched_.collectives) {
      const bool is_asked = std::any_of(one.members.begin(), one.members.end(), [this](const auto& member) {
        return run_.ranks[member.rank].calls[member.call].is_asked;
      });
      if (is_asked) RETURN_IF_ERROR(AddCollective(one));
    }
    RETURN_IF_ERROR(AddRanks());
    RETURN_IF_ERROR(AddSteps());
    RETURN_IF_ERROR(AddMessages());
    AddNotes();
    return OkStatus();
  }

 private:
  Status AddCollective(const MatchedCollective& one) {
    const CollectiveFacts facts = FactsOf(run_, one, texts_);
    ++collectives_;
    timeless_ += facts.has_times ? 0 : 1;
    const bool can_tell = facts.has_times ? AreComparable(one) : EndsTogether(facts.call->kind);
    const bool is_matched = one.members.size() > 1 && can_tell;
    std::string list = "[";
    for (const CollectiveMember& member : one.members) {
      list += (list.size() == 1 ? "" : ",") + std::to_string(run_.ranks[member.rank].number);
    }
    list += "]";
    const auto known = [is_matched](int64_t value) { return is_matched ? AnalysisValue(value) : AnalysisValue(); };
    const auto speed = [&](std::optional<double> factor) {
      return is_matched ? GbPerSecond(factor, facts.bytes, facts.transfer_ns()) : AnalysisValue();
    };
    const CommunicationCall& call = *facts.call;
    RETURN_IF_ERROR(answer_.AddRow(
        kCollectiveRows,
        {name_, std::string(NameOfCollective(call.kind)), TextOrNothing(texts_.TextOf(call.group)), list,
         ValueOf(facts.bytes), known(facts.last_begin_ns - facts.first_begin_ns), known(facts.transfer_ns()),
         known(run_.ranks[one.members[facts.last].rank].number), speed(1.0), speed(BusFactor(call.kind, facts.ranks)),
         facts.has_times ? AnalysisValue(facts.first_begin_ns) : AnalysisValue(), facts.longest_ns,
         known(facts.wait_ns), ValueOf(call.sequence), ValueOf(facts.group_size),
         TextOrNothing(texts_.TextOf(call.type)), TruthOf(facts.between_nodes), texts_.TextOf(call.kernel)}));
    for (const CollectiveMember& member : one.members) {
      RankSum& sum = sums_[member.rank];
      ++sum.collectives;
      if (!is_matched) continue;
      ++sum.matched;
      sum.communication_ns = SaturatingSum(sum.communication_ns, member.length_ns());
      sum.wait_ns = SaturatingSum(sum.wait_ns, WaitOf(member, facts.last_begin_ns));
    }
    if (!is_matched) {
      ++(!facts.has_times && one.members.size() > 1 ? untold_ : alone_);
      return OkStatus();
    }
    RankSum& last = sums_[one.members[facts.last].rank];
    ++last.times_last;
    last.delay_ns = SaturatingSum(last.delay_ns, facts.last_begin_ns - facts.before_last_ns);
    last.others_wait_ns = SaturatingSum(last.others_wait_ns, facts.wait_ns);
    AddMessage(facts);
    return OkStatus();
  }

  // True if the times of its ranks count from one point, as far as that is known.
  bool AreComparable(const MatchedCollective& one) const {
    return run_.have_bases || std::none_of(one.members.begin(), one.members.end(), [this](const auto& member) {
             return matched_.clocks[member.rank].state == ClockState::kUnknown;
           });
  }

  // Sizes of one power of two are together.
  void AddMessage(const CollectiveFacts& facts) {
    if (!facts.bytes) return;
    int size = 0;
    while (size < 62 && (int64_t{1} << (size + 1)) <= *facts.bytes) ++size;
    MessageSum& sum = messages_[{facts.call->kind, facts.between_nodes, *facts.bytes == 0 ? -1 : size}];
    sum.least_bytes = sum.count == 0 ? *facts.bytes : std::min(sum.least_bytes, *facts.bytes);
    sum.most_bytes = std::max(sum.most_bytes, *facts.bytes);
    ++sum.count;
    sum.bytes = SaturatingSum(sum.bytes, *facts.bytes);
    sum.transfer_ns = SaturatingSum(sum.transfer_ns, facts.transfer_ns());
    sum.wait_ns = SaturatingSum(sum.wait_ns, facts.wait_ns);
    sum.bus_bytes += BusFactor(facts.call->kind, facts.ranks).value_or(0) * static_cast<double>(*facts.bytes);
  }

  Status AddRanks() {
    for (size_t rank = 0; rank < sums_.size(); ++rank) {
      const RankSum& sum = sums_[rank];
      const RankClock& clock = matched_.clocks[rank];
      const char* state = "unknown";
      if (clock.state == ClockState::kCommon) state = "common";
      if (clock.state == ClockState::kEstimated) state = "estimated";
      const bool is_known = clock.state != ClockState::kUnknown;
      RETURN_IF_ERROR(answer_.AddRow(
          kRankSums, {name_, run_.ranks[rank].number, sum.wait_ns, sum.times_last, sum.others_wait_ns, sum.delay_ns,
                      sum.collectives, sum.matched, sum.communication_ns, sum.communication_ns - sum.wait_ns,
                      PercentOf(sum.wait_ns, sum.communication_ns), std::string(state),
                      is_known ? AnalysisValue(clock.offset_ns) : AnalysisValue(), ValueOf(clock.error_ns)}));
    }
    return OkStatus();
  }

  struct StepLoad {
    size_t rank = 0;
    int64_t compute_ns = 0;
    int64_t wall_ns = 0;
    bool is_recorded = false;
  };

  // A rank of which no work was recorded in a step is not counted there: its trace may be cut.
  Status AddSteps() {
    std::map<std::optional<int64_t>, std::vector<StepLoad>> steps;
    for (size_t rank = 0; rank < run_.ranks.size(); ++rank) {
      for (const StepLoads& of_part : run_.loads[rank]) {
        for (const StepLoads::Load& load : of_part.loads()) {
          std::vector<StepLoad>& of_step = steps[load.step];
          if (of_step.empty() || of_step.back().rank != rank) of_step.push_back({.rank = rank});
          StepLoad& sum = of_step.back();
          sum.compute_ns = SaturatingSum(sum.compute_ns, load.compute_ns);
          sum.wall_ns = SaturatingSum(sum.wall_ns, load.wall_ns);
          sum.is_recorded |= load.is_recorded;
        }
      }
    }
    std::set<int64_t> not_counted;
    for (auto& [step, loads] : steps) {
      for (const StepLoad& load : loads) {
        if (!load.is_recorded) not_counted.insert(run_.ranks[load.rank].number);
      }
      std::erase_if(loads, [](const StepLoad& load) { return !load.is_recorded; });
      if (!loads.empty()) RETURN_IF_ERROR(AddStep(step, loads));
    }
    if (!not_counted.empty()) {
      answer_.AddNote("steps: no compute and no communication was recorded in some steps of " +
                      std::string(run_.are_devices ? "device " : "rank ") + ListOfNumbers(not_counted) +
                      ": what is not known of a step is not counted there");
    }
    return OkStatus();
  }

  // REQUIRES: `loads` is not empty.
  Status AddStep(const std::optional<int64_t>& step, const std::vector<StepLoad>& loads) {
    const auto by_compute = [](const StepLoad& a, const StepLoad& b) { return a.compute_ns < b.compute_ns; };
    const auto least = std::min_element(loads.begin(), loads.end(), by_compute);
    const auto most = std::max_element(loads.begin(), loads.end(), by_compute);
    const auto longest = std::max_element(loads.begin(), loads.end(),
                                          [](const StepLoad& a, const StepLoad& b) { return a.wall_ns < b.wall_ns; });
    int64_t sum = 0;
    for (const StepLoad& load : loads) sum = SaturatingSum(sum, load.compute_ns);
    const auto rank_of = [this](const StepLoad& load) { return run_.ranks[load.rank].number; };
    const double mean_ns = static_cast<double>(sum) / static_cast<double>(loads.size());
    const AnalysisValue above =
        sum == 0 ? AnalysisValue() : AnalysisValue(100 * (static_cast<double>(most->compute_ns) - mean_ns) / mean_ns);
    return answer_.AddRow(
        kStepSums, {name_, ValueOf(step), static_cast<int64_t>(loads.size()), longest->wall_ns, rank_of(*longest),
                    most->compute_ns, rank_of(*most), least->compute_ns, rank_of(*least), mean_ns, above});
  }

  Status AddMessages() {
    for (const auto& [key, sum] : messages_) {
      const std::string name(NameOfCollective(key.kind));
      const bool has_factor = key.kind != CollectiveKind::kOther;
      RETURN_IF_ERROR(answer_.AddRow(
          kMessageSums,
          {name_, name, TruthOf(key.between_nodes), sum.least_bytes, sum.most_bytes, sum.count, sum.bytes,
           sum.transfer_ns, sum.wait_ns, GbPerSecond(1.0, sum.bytes, sum.transfer_ns),
           has_factor && sum.transfer_ns > 0 ? AnalysisValue(sum.bus_bytes / static_cast<double>(sum.transfer_ns))
                                             : AnalysisValue()}));
    }
    return OkStatus();
  }

  void AddNotes() const {
    const int64_t matched = collectives_ - alone_ - untold_;
    if (collectives_ == 0) {
      answer_.AddNote("no collectives: no communication kernel in what was asked for");
      return;
    }
    if (alone_ > 0) {
      answer_.AddNote(std::to_string(alone_) + " of " + std::to_string(collectives_) +
                      " collectives are shown by one rank alone: nothing is known of their skew and transfer");
    }
    if (run_.are_devices) answer_.AddNote("ranks are devices here: the trace has several, or no rank");
    if (!run_.have_groups) {
      answer_.AddNote("the traces do not tell process groups: collectives are matched by their order on streams");
    }
    if (timeless_ > 0) {
      answer_.AddNote(
          "the logs of " + std::to_string(timeless_) +
          " collectives tell how long each rank took, and not when: ranks are taken to end together, so that "
          "the one that took the least was last");
    }
    if (untold_ > 0) {
      answer_.AddNote("a rank may be done before others begin with " + std::to_string(untold_) +
                      " of them (broadcast and the like): their lengths tell nothing of skew and transfer");
    }
    if (matched == 0) return;
    if (timeless_ < collectives_) AddNoteOfClocks();
    size_t worst = 0;
    for (size_t rank = 1; rank < sums_.size(); ++rank) {
      if (sums_[rank].others_wait_ns > sums_[worst].others_wait_ns) worst = rank;
    }
    if (sums_[worst].others_wait_ns == 0) return;
    const std::string who = (run_.are_devices ? "device " : "rank ") + std::to_string(run_.ranks[worst].number);
    answer_.AddNote(who + " was last in " + std::to_string(sums_[worst].times_last) + " of " + std::to_string(matched) +
                    " collectives: the others waited " + MillisecondsText(sums_[worst].others_wait_ns) +
                    " for it, all together");
  }

  void AddNoteOfClocks() const {
    size_t estimated = 0;
    size_t unknown = 0;
    int64_t most = 0;
    int64_t error = 0;
    for (size_t rank = 0; rank < matched_.clocks.size(); ++rank) {
      const RankClock& clock = matched_.clocks[rank];
      if (run_.ranks[rank].calls.empty()) continue;
      estimated += clock.state == ClockState::kEstimated ? 1 : 0;
      unknown += clock.state == ClockState::kUnknown ? 1 : 0;
      most = std::max(most, std::abs(clock.offset_ns));
      error = std::max(error, clock.error_ns.value_or(0));
    }
    const std::string within = std::to_string(error) + " ns of each other, on the median";
    if (estimated > 0) {
      answer_.AddNote("the clocks of " + std::to_string(estimated) + " of " + std::to_string(matched_.clocks.size()) +
                      " ranks differ from the others by up to " + std::to_string(most) +
                      " ns: that is estimated from collectives that end together, and taken off");
    }
    if (unknown > 0) {
      answer_.AddNote("nothing is known of the clocks of " + std::to_string(unknown) +
                      " ranks: what is told of their skew may be their clocks'");
    } else {
      answer_.AddNote("the ranks' clocks agree" + std::string(estimated > 0 ? " then" : "") +
                      ": collectives end within " + within);
    }
  }

  const std::string name_;
  const RunCommunication& run_;
  const MatchedCollectives& matched_;
  const TextNumbers& texts_;
  AnalysisAnswer& answer_;
  std::vector<RankSum> sums_;
  std::map<MessageKey, MessageSum> messages_;
  int64_t collectives_ = 0;
  int64_t alone_ = 0;     // of them
  int64_t timeless_ = 0;  // whose lengths alone are known
  int64_t untold_ = 0;    // of these, those that do not end together
};

Result<AnalysisAnswer> AnswerCollectives(const AnalysisTraces& traces, const AnalysisOptions& options,
                                         const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  for (const RunParts& of_run : PartsOfRuns(traces)) {
    TextNumbers texts;
    MemoryCharge charge(traces.take_memory());
    RunReader reader(traces, scope, options.integer("ranks-per-node"), stop, texts, charge);
    ASSIGN_OR_RETURN(const RunCommunication run, reader.Read(of_run.parts, answer));
    ASSIGN_OR_RETURN(const MatchedCollectives matched, MatchCollectives(run.ranks, charge, stop));
    RETURN_IF_ERROR(RunAnswer(of_run.run, run, matched, texts, answer).Add());
  }
  return answer;
}

}  // namespace

AnalysisKind Collectives() {
  using enum AnalysisType;
  return {
      .name = "collectives",
      .version = 1,
      .question = "Which rank do the others wait for, what does it cost, and how fast are collectives?",
      .options = {kNodeOption, kTraceScope},
      .tables =
          {{"collectives",
            {{"run", kText, "", "The run", true},
             {"name", kText, "", "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, ..."},
             {"group", kText, "", "The process group; null: not known"},
             {"ranks", kJson, "", "The ranks that show it"},
             {"bytes", kInteger, "bytes", "Its size, as nccl-tests counts it: of the whole; the most of all ranks"},
             {"skew_ns", kInteger, "ns", "From the begin of the first rank to that of the last"},
             {"transfer_ns", kInteger, "ns", "From the begin of the last rank to the last end"},
             {"straggler", kInteger, "", "The rank that began last"},
             {"algorithm_gb_s", kReal, "gb_s", "bytes by transfer_ns"},
             {"bus_gb_s", kReal, "gb_s", "algorithm_gb_s times nccl-tests' factor: 2(n-1)/n for an all_reduce, ..."},
             {"start_ns", kInteger, "ns", "The begin of the first rank, from the earliest base of the run's parts on"},
             {"longest_ns", kInteger, "ns", "The longest kernel of it: the wait of the first rank, and the transfer"},
             {"wait_ns", kInteger, "ns", "Until the last rank began, added up over the ranks"},
             {"sequence", kInteger, "", "The number of it within its process group; null: not known"},
             {"group_size", kInteger, "", "The ranks of its process group; null: not known"},
             {"type", kText, "", "The type of its elements; null: not known"},
             {"between_nodes", kBoolean, "", "Its ranks are on several nodes; null: not known"},
             {"kernel", kText, "", "Its kernel, of its first rank"}}},
           {"ranks",
            {{"run", kText, "", "The run", true},
             {"rank", kInteger, "", "The rank; the device where a trace has several, or no rank"},
             {"wait_ns", kInteger, "ns", "How long its kernels waited for later ranks"},
             {"times_last", kInteger, "", "In how many collectives it was the last to begin"},
             {"others_wait_ns", kInteger, "ns", "How long all others waited where it was last, added up"},
             {"delay_ns", kInteger, "ns", "How long after the last but one it began, where it was last, added up"},
             {"collectives", kInteger, "", "How many it has"},
             {"matched", kInteger, "", "How many other ranks show, too"},
             {"communication_ns", kInteger, "ns", "Of its kernels of matched collectives, added up"},
             {"transfer_ns", kInteger, "ns", "communication_ns without wait_ns"},
             {"wait_percent", kReal, "percent", "wait_ns of communication_ns"},
             {"clock", kText, "", "common: compared as it is; estimated: its offset is taken off; unknown: as it is"},
             {"clock_offset_ns", kInteger, "ns", "By how much its clock is ahead"},
             {"clock_error_ns", kInteger, "ns", "How far its ends are from those of the others, on the median"}}},
           {"steps",
            {{"run", kText, "", "The run", true},
             {"step", kInteger, "", "ProfilerStep#N; null: the traces have no steps, and it is all of them"},
             {"ranks", kInteger, "", "How many have it, with work of their devices in it"},
             {"wall_ns", kInteger, "ns", "How long it took, on the rank where it took longest"},
             {"wall_rank", kInteger, "", "That rank"},
             {"most_compute_ns", kInteger, "ns", "How long compute kernels ran, on the rank where they ran longest"},
             {"most_compute_rank", kInteger, "", "That rank"},
             {"least_compute_ns", kInteger, "ns", "How long on the rank where they ran shortest"},
             {"least_compute_rank", kInteger, "", "That rank"},
             {"mean_compute_ns", kReal, "ns", "On average over the ranks"},
             {"imbalance_percent", kReal, "percent", "By how much the most is above the mean"}}},
           {"messages",
            {{"run", kText, "", "The run", true},
             {"name", kText, "", "all_reduce, ..."},
             {"between_nodes", kBoolean, "", "Their ranks are on several nodes; null: not known"},
             {"least_bytes", kInteger, "bytes", "Sizes from this: those of one power of two are one row"},
             {"most_bytes", kInteger, "bytes", "Up to this"},
             {"count", kInteger, "", "How many collectives that more than one rank shows"},
             {"bytes", kInteger, "bytes", "All of them"},
             {"transfer_ns", kInteger, "ns", "All of them"},
             {"wait_ns", kInteger, "ns", "Of all ranks, all of them"},
             {"algorithm_gb_s", kReal, "gb_s", "bytes by transfer_ns"},
             {"bus_gb_s", kReal, "gb_s", "With the factor of each"}}}},
      .answer = &AnswerCollectives};
}

}  // namespace kprof
