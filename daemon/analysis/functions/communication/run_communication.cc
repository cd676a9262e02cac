#include "daemon/analysis/functions/communication/run_communication.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

// The name of the node that a part was made on, where its source says it.
std::string HostOf(const PartReader& reader) {
  for (const char* fact : {"source.hostname", "source.host_name", "host"}) {
    if (const std::optional<std::string> name = reader.TextFact(fact)) return *name;
  }
  return "";
}

class RunReader {
 public:
  RunReader(const AnalysisTraces& traces, const DeviceScope& scope, std::optional<int64_t> ranks_per_node,
            const StopSignal& stop, TextNumbers& texts, MemoryCharge& charge)
      : traces_(traces), scope_(scope), ranks_per_node_(ranks_per_node), stop_(stop), texts_(texts), charge_(charge) {}

  Result<RunCommunication> Read(std::span<const size_t> parts, AnalysisAnswer& answer) {
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
  Result<RunCommunication> ReadParts(std::span<const size_t> parts, AnalysisAnswer& answer) {
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

  // Runs of which each has other ranks: where each rank is a run of its own, none is missing that another run has.
  bool AreRanksOfOneJob() const {
    std::map<int64_t, std::string_view> run_of;
    for (size_t i = 0; i < traces_.parts().size(); ++i) {
      const std::optional<int64_t> rank = traces_.parts()[i].rank;
      if (!rank || run_of.try_emplace(*rank, traces_.run(i)).first->second != traces_.run(i)) return false;
    }
    return true;
  }

  void NoteMissing(const RunCommunication& run, std::span<const size_t> parts, const std::set<int64_t>& broken,
                   AnalysisAnswer& answer) const {
    constexpr int64_t kMostRanks = 1 << 20;
    std::set<int64_t> there = broken;
    for (const size_t part : parts) {
      if (traces_.parts()[part].rank) there.insert(*traces_.parts()[part].rank);
    }
    if (run.world_size <= 1 || run.world_size > kMostRanks || there.empty()) return;
    if (AreRanksOfOneJob()) {
      for (const TracePart& part : traces_.parts()) {
        if (part.rank) there.insert(*part.rank);
      }
    }
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

}  // namespace

Result<RunCommunication> ReadRunCommunication(const AnalysisTraces& traces, std::span<const size_t> parts,
                                              const DeviceScope& scope, std::optional<int64_t> ranks_per_node,
                                              const StopSignal& stop, TextNumbers& texts, MemoryCharge& charge,
                                              AnalysisAnswer& answer) {
  return RunReader(traces, scope, ranks_per_node, stop, texts, charge).Read(parts, answer);
}

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

}  // namespace kprof
