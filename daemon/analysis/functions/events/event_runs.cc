#include "daemon/analysis/functions/events/event_runs.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/verdict/distribution.h"
#include "storage/trace/format/event_tables.h"

namespace kprof {
namespace {

template <typename Number>
Number FactNumber(const PartReader& reader, std::string_view name, Number otherwise) {
  const auto found = reader.facts().find(name);
  if (found == reader.facts().end()) return otherwise;
  Number number = otherwise;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Texts of a part by their numbers, each read once.
class EventTexts {
 public:
  explicit EventTexts(PartReader& reader) : reader_(reader) {}
  Result<std::string> Read(int64_t number) {
    const auto found = texts_.find(number);
    if (found != texts_.end()) return found->second;
    ASSIGN_OR_RETURN(std::string text, ReadTableText(reader_, number));
    texts_.emplace(number, text);
    return text;
  }

 private:
  PartReader& reader_;
  std::map<int64_t, std::string> texts_;
};

// The means of what samples say of their work.
struct WorkSums {
  double flops = 0;
  double bytes = 0;
  int64_t with_flops = 0;
  int64_t with_bytes = 0;
  bool is_cold = false;
};

Status ReadTurns(PartReader& reader, EventTexts& texts, const StopSignal& stop, EventRun& run,
                 std::map<int64_t, size_t>& places) {
  using enum EventTurnColumn;
  return ForEachReportRow(
      reader, EventTurnTable(),
      {kTurn, kSide, kBlock, kAskedSamples, kWallNs, kUserCpuNs, kSystemCpuNs, kLeftoverProcesses, kRefuted}, stop,
      [&](const ReportRow<EventTurnColumn>& row) -> Status {
        TimedTurn turn;
        ASSIGN_OR_RETURN(const std::string side, texts.Read(row[kSide]));
        turn.is_candidate = side == "candidate";
        turn.number = row[kTurn];
        turn.block = row[kBlock] == kNoValue ? -1 : row[kBlock];
        turn.asked_samples = row[kAskedSamples];
        turn.wall_ns = static_cast<double>(row[kWallNs]);
        turn.cpu_ns = static_cast<double>(row[kUserCpuNs] + row[kSystemCpuNs]);
        turn.leftover_processes = row[kLeftoverProcesses];
        ASSIGN_OR_RETURN(turn.refuted, texts.Read(row[kRefuted]));
        run.compares |= !turn.is_candidate;
        places.emplace(turn.number, run.turns.size());
        run.turns.push_back(std::move(turn));
        run.user_cpu_ns.push_back(row[kUserCpuNs]);
        return OkStatus();
      });
}

Status ReadSamples(PartReader& reader, EventTexts& texts, const StopSignal& stop,
                   const std::map<int64_t, size_t>& places, EventRun& run) {
  using enum EventSampleColumn;
  std::map<std::string, WorkSums> work;
  RETURN_IF_ERROR(ForEachReportRow(reader, EventSampleTable(), {kTurn, kCase, kNs, kFlops, kBytes, kCache}, stop,
                                   [&](const ReportRow<EventSampleColumn>& row) -> Status {
                                     const auto place = places.find(row[kTurn]);
                                     if (place == places.end()) return OkStatus();
                                     TimedTurn& turn = run.turns[place->second];
                                     ASSIGN_OR_RETURN(const std::string name, texts.Read(row[kCase]));
                                     turn.samples[name].push_back(row.real(kNs));
                                     if (!turn.is_candidate) return OkStatus();
                                     WorkSums& sums = work[name];
                                     const double flops = row.real(kFlops);
                                     const double bytes = row.real(kBytes);
                                     if (std::isfinite(flops)) sums.flops += flops, ++sums.with_flops;
                                     if (std::isfinite(bytes)) sums.bytes += bytes, ++sums.with_bytes;
                                     if (row[kCache] != kNoValue) {
                                       ASSIGN_OR_RETURN(const std::string cache, texts.Read(row[kCache]));
                                       sums.is_cold = cache == "cold";
                                     }
                                     return OkStatus();
                                   }));
  for (const auto& [name, sums] : work) {
    CaseWork& of = run.facts.work[name];
    of.is_cold = sums.is_cold;
    if (sums.with_flops > 0) of.flops = sums.flops / static_cast<double>(sums.with_flops);
    if (sums.with_bytes > 0) of.bytes = sums.bytes / static_cast<double>(sums.with_bytes);
  }
  return OkStatus();
}

}  // namespace

std::vector<CaseTime> CaseTimesOf(const EventRun& run) {
  std::vector<CaseTime> times;
  for (const std::string& name : CasesOf(run.turns)) {
    std::vector<double> all;
    for (const ProcessSamples& process : ProcessesOf(run.turns, true, name)) {
      all.insert(all.end(), process.ns.begin(), process.ns.end());
    }
    if (!all.empty()) times.push_back({name, DistributionOf(std::move(all)).median});
  }
  return times;
}

Result<std::vector<EventRun>> ReadEventRuns(const AnalysisTraces& traces, const StopSignal& stop) {
  std::vector<EventRun> runs;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    PartReader& reader = *traces.parts()[part].reader;
    if (FindReportTable(reader, EventTurnTable()) == nullptr) continue;
    EventRun run;
    run.run = traces.run(part);
    run.rules.delta = FactNumber(reader, "event.delta", run.rules.delta);
    run.rules.seed = FactNumber(reader, "event.seed", run.rules.seed);
    run.rules.most_looks = FactNumber(reader, "event.looks", run.rules.most_looks);
    PhysicalFloor& floor = run.facts.floor;
    floor.flop_per_ns = FactNumber(reader, "event.floor_flop_per_ns", 0.0);
    floor.byte_per_ns = FactNumber(reader, "event.floor_byte_per_ns", 0.0);
    floor.cache_bytes = FactNumber(reader, "event.floor_cache_bytes", 0.0);
    const auto device = reader.facts().find("event.floor_device");
    floor.device = device == reader.facts().end() ? "the device" : device->second;
    EventTexts texts(reader);
    std::map<int64_t, size_t> places;
    RETURN_IF_ERROR(ReadTurns(reader, texts, stop, run, places));
    RETURN_IF_ERROR(ReadSamples(reader, texts, stop, places, run));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace kprof
