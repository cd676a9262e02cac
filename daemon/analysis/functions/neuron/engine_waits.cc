#include "daemon/analysis/functions/neuron/engine_waits.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kprof {
namespace {

// Times are cut to whole ns, begins and durations each by themselves.
constexpr int64_t kCutNs = 2;
// Rows of the waiting engine itself that are passed over to find another's.
constexpr int kMostPassed = 64;
constexpr uint32_t kNobody = UINT32_MAX;

class WaitsReader {
 public:
  WaitsReader(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window, int64_t core,
              const StopSignal& stop)
      : traces_(traces), profile_(profile), window_(window), core_(core), stop_(stop), charge_(traces.take_memory()) {}

  Result<std::vector<EngineWait>> Read(ProfileWork& work) {
    ASSIGN_OR_RETURN(lines_, SourceLines::Read(traces_, profile_, stop_));
    RETURN_IF_ERROR(ReadInstructions());
    RETURN_IF_ERROR(ReadDma());
    // Packets say when a transfer was done; where there are none, transfers have to do.
    std::vector<Ended>& moved = ended_dma_[0].empty() ? ended_dma_[1] : ended_dma_[0];
    ended_.insert(ended_.end(), moved.begin(), moved.end());
    for (std::vector<Ended>& one : ended_dma_) std::vector<Ended>().swap(one);
    std::sort(ended_.begin(), ended_.end(),
              [](const Ended& one, const Ended& other) { return one.end_ns < other.end_ns; });
    std::vector<EngineWait> made;
    for (EngineWork& engine : work.engines) {
      if (engine.core != core_) continue;
      const auto found = std::find(engines_.begin(), engines_.end(), engine.engine);
      if (found == engines_.end()) continue;
      RETURN_IF_ERROR(StillWanted(stop_));
      EngineWait wait = WaitOf(static_cast<uint32_t>(found - engines_.begin()), engine.busy.Pieces());
      if (wait.wait_ns > 0) made.push_back(std::move(wait));
    }
    return made;
  }

 private:
  static constexpr uint32_t kDmaEngine = UINT32_MAX;
  // An end of work: who is a number of `who_`, engine one of `engines_`.
  struct Ended {
    int64_t end_ns = 0;
    uint32_t who = 0;
    uint32_t engine = 0;
  };
  struct Who {
    std::string name;
    bool is_dma = false;
    size_t line = 0;
  };

  Status ReadInstructions() {
    using enum NeuronInstructionColumn;
    std::map<std::pair<const PartReader*, int64_t>, uint32_t> engines;
    std::map<std::pair<const PartReader*, int64_t>, bool> semaphores;
    std::unordered_map<uint64_t, uint32_t> numbers;  // of who, by engine and line
    return ForEachProfileRow<NeuronInstructionColumn>(
        traces_, profile_, NeuronInstructionSideTable(),
        {kEngine, kCore, kOpcode, kStart, kDuration, kWait, kFile, kLine, kFrames, kKernelInstruction}, stop_,
        [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts) -> Status {
          if ((row[kCore] == kNoValue ? 0 : row[kCore]) != core_ || row[kStart] == kNoValue) return OkStatus();
          const auto [engine, is_new] = engines.try_emplace({texts.reader(), row[kEngine]}, 0);
          if (is_new) {
            ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kEngine]));
            engine->second = EngineNumber(EngineNameOf(*name));
          }
          const auto [semaphore, is_other] = semaphores.try_emplace({texts.reader(), row[kOpcode]}, false);
          if (is_other) {
            ASSIGN_OR_RETURN(const std::string* const opcode, texts.Find(row[kOpcode]));
            semaphore->second = *opcode == kSemaphoreOpcode;
          }
          const int64_t begin = SafeTime(row[kStart]);
          const int64_t end = SafeEndOf(begin, row[kDuration]);
          const int64_t before =
              row[kWait] > 0 ? std::max(begin - std::min(row[kWait], kMostWaitNs), INT64_MIN / 2) : begin;
          const int64_t until = semaphore->second ? end : begin;
          RETURN_IF_ERROR(charge_.Grow(sizeof(Ended)));
          if (before < until) waits_[engine->second].push_back({before, until});
          if (semaphore->second) return OkStatus();
          ASSIGN_OR_RETURN(const size_t line,
                           lines_.Find(texts, row[kFile], row[kLine], row[kFrames], row[kKernelInstruction]));
          const auto [who, is_unseen] =
              numbers.try_emplace((uint64_t{engine->second} << 40U) | line, static_cast<uint32_t>(who_.size()));
          if (is_unseen) who_.push_back({engines_[engine->second], false, line});
          ended_.push_back({end, who->second, engine->second});
          return OkStatus();
        });
  }

  Status ReadDma() {
    using enum NeuronDmaColumn;
    std::map<std::pair<const PartReader*, int64_t>, uint32_t> queues;
    std::map<std::string, uint32_t> by_name;
    return ForEachProfileRow<NeuronDmaColumn>(
        traces_, profile_, NeuronDmaSideTable(), {kQueue, kCore, kStart, kDuration, kAggregated, kDuplicate}, stop_,
        [&](const ReportRow<NeuronDmaColumn>& row, ProfileTexts& texts) -> Status {
          if ((row[kCore] == kNoValue ? 0 : row[kCore]) != core_ || row[kStart] == kNoValue || row[kDuplicate] == 1) {
            return OkStatus();
          }
          const auto [queue, is_new] = queues.try_emplace({texts.reader(), row[kQueue]}, 0);
          if (is_new) {
            ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kQueue]));
            const auto [number, is_unseen] = by_name.try_emplace(*name, static_cast<uint32_t>(who_.size()));
            if (is_unseen) who_.push_back({*name, true, 0});
            queue->second = number->second;
          }
          RETURN_IF_ERROR(charge_.Grow(sizeof(Ended)));
          ended_dma_[row[kAggregated] == 1 ? 1 : 0].push_back(
              {SafeEndOf(SafeTime(row[kStart]), row[kDuration]), queue->second, kDmaEngine});
          return OkStatus();
        });
  }

  uint32_t EngineNumber(const std::string& name) {
    const auto found = std::find(engines_.begin(), engines_.end(), name);
    if (found != engines_.end()) return static_cast<uint32_t>(found - engines_.begin());
    engines_.push_back(name);
    return static_cast<uint32_t>(engines_.size() - 1);
  }

  EngineWait WaitOf(uint32_t engine, const std::vector<Interval>& busy) {
    EngineWait made{engines_[engine], 0, {}};
    std::vector<Interval>& waits = waits_[engine];
    std::sort(waits.begin(), waits.end(), [](const Interval& one, const Interval& other) {
      return std::tuple(one.begin_ns, one.end_ns) < std::tuple(other.begin_ns, other.end_ns);
    });
    std::map<uint32_t, std::pair<int64_t, int64_t>> sums;  // ns and waits, by who
    int64_t covered_ns = window_.from_ns;
    size_t piece = 0;
    for (const Interval& wait : waits) {
      const int64_t begin = std::max(wait.begin_ns, covered_ns);
      const int64_t end = std::min(wait.end_ns, window_.to_ns);
      if (begin >= end) continue;
      covered_ns = end;
      int64_t left = end - begin;
      while (piece < busy.size() && busy[piece].end_ns <= begin) ++piece;
      for (size_t i = piece; i < busy.size() && busy[i].begin_ns < end; ++i) {
        left -= std::min(busy[i].end_ns, end) - std::max(busy[i].begin_ns, begin);
      }
      if (left <= 0) continue;
      made.wait_ns += left;
      auto& [sum_ns, count] = sums[wait.end_ns > window_.to_ns ? kNobody : EnderOf(wait, engine)];
      sum_ns += left;
      ++count;
    }
    for (const auto& [who, sum] : sums) {
      WaitedFor one;
      if (who != kNobody) {
        one.who = who_[who].name;
        one.is_dma = who_[who].is_dma;
        one.line = lines_.line(who_[who].line);
      }
      one.wait_ns = sum.first;
      one.waits = sum.second;
      made.waited_for.push_back(std::move(one));
    }
    std::stable_sort(made.waited_for.begin(), made.waited_for.end(),
                     [](const WaitedFor& one, const WaitedFor& other) { return one.wait_ns > other.wait_ns; });
    return made;
  }

  // The other one that ended last before the wait did.
  uint32_t EnderOf(const Interval& wait, uint32_t engine) const {
    auto at = std::upper_bound(ended_.begin(), ended_.end(), wait.end_ns + kCutNs,
                               [](int64_t end_ns, const Ended& one) { return end_ns < one.end_ns; });
    for (int i = 0; i < kMostPassed && at != ended_.begin(); ++i) {
      --at;
      if (at->end_ns < wait.begin_ns) break;
      if (at->engine != engine) return at->who;
    }
    return kNobody;
  }

  static constexpr int64_t kMostWaitNs = int64_t{1} << 60;
  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& window_;
  const int64_t core_;
  const StopSignal& stop_;
  MemoryCharge charge_;
  SourceLines lines_;
  std::vector<std::string> engines_;
  std::vector<Who> who_;
  std::vector<Ended> ended_;
  std::array<std::vector<Ended>, 2> ended_dma_;  // packets, transfers
  std::map<uint32_t, std::vector<Interval>> waits_;
};

}  // namespace

Result<std::vector<EngineWait>> ReadEngineWaits(const AnalysisTraces& traces, const DeviceProfile& profile,
                                                const ProfileWindow& window, int64_t core, ProfileWork& work,
                                                const StopSignal& stop) {
  return WaitsReader(traces, profile, window, core, stop).Read(work);
}

}  // namespace kprof
