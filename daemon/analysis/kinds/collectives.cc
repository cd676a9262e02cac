// Collectives across ranks: who was late, what it cost, how fast they were. Docs: docs/analyses/collectives.md.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/communication/collective_facts.h"
#include "daemon/analysis/functions/communication/collective_names.h"
#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/functions/communication/matched_collectives.h"
#include "daemon/analysis/functions/communication/run_communication.h"
#include "daemon/analysis/functions/communication/step_loads.h"
#include "daemon/analysis/functions/device_scope.h"
#include "storage/base/memory_charge.h"

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

std::string MillisecondsText(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f ms", static_cast<double>(ns) / 1e6);
  return text;
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
    const CollectiveFacts facts = FactsOfCollective(run_, one, texts_);
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
      sum.wait_ns = SaturatingSum(sum.wait_ns, facts.WaitOf(member));
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

  // A rank of which no work was recorded in a step is not counted there: its trace may be cut.
  Status AddSteps() {
    std::set<int64_t> not_counted;
    for (auto& [step, loads] : LoadsOfSteps(run_.loads)) {
      for (const RankLoad& load : loads) {
        if (!load.is_recorded) not_counted.insert(run_.ranks[load.rank].number);
      }
      std::erase_if(loads, [](const RankLoad& load) { return !load.is_recorded; });
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
  Status AddStep(const std::optional<int64_t>& step, const std::vector<RankLoad>& loads) {
    const auto by_compute = [](const RankLoad& a, const RankLoad& b) { return a.compute_ns < b.compute_ns; };
    const auto least = std::min_element(loads.begin(), loads.end(), by_compute);
    const auto most = std::max_element(loads.begin(), loads.end(), by_compute);
    const auto longest = std::max_element(loads.begin(), loads.end(),
                                          [](const RankLoad& a, const RankLoad& b) { return a.wall_ns < b.wall_ns; });
    int64_t sum = 0;
    for (const RankLoad& load : loads) sum = SaturatingSum(sum, load.compute_ns);
    const auto rank_of = [this](const RankLoad& load) { return run_.ranks[load.rank].number; };
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
    ASSIGN_OR_RETURN(const RunCommunication run,
                     ReadRunCommunication(traces, of_run.parts, scope, options.integer("ranks-per-node"), stop, texts,
                                          charge, answer));
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
