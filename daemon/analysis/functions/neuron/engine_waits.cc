#include "daemon/analysis/functions/neuron/engine_waits.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

// Times are cut to whole ns, begins and durations each by themselves.
constexpr int64_t kCutNs = 2;
// Rows of the waiting engine itself that are passed over to find another's.
constexpr int kMostPassed = 64;
constexpr uint32_t kNobodyEnded = UINT32_MAX;
constexpr size_t kKeptAtOnce = 4096;

class WaitsReader {
 public:
  WaitsReader(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window, int64_t core,
              const StopSignal& stop)
      : traces_(traces), profile_(profile), window_(window), core_(core), stop_(stop), charge_(traces.take_memory()) {}

  Result<EngineWaits> Read(ProfileWork& work) {
    ASSIGN_OR_RETURN(lines_, SourceLines::Read(traces_, profile_, stop_));
    RETURN_IF_ERROR(ReadInstructions());
    RETURN_IF_ERROR(ReadDma());
    if (are_too_many_) return EngineWaits{{}, true};
    // Packets say when a transfer was done; where there are none, transfers have to do.
    std::vector<Ended>& moved = ended_dma_[0].empty() ? ended_dma_[1] : ended_dma_[0];
    ended_.insert(ended_.end(), moved.begin(), moved.end());
    for (std::vector<Ended>& one : ended_dma_) std::vector<Ended>().swap(one);
    const auto before = [](const Ended& one, const Ended& other) { return one.end_ns < other.end_ns; };
    if (!std::is_sorted(ended_.begin(), ended_.end(), before)) std::sort(ended_.begin(), ended_.end(), before);
    EngineWaits made;
    for (EngineWork& engine : work.engines) {
      if (engine.core != core_) continue;
      const auto found = std::find(engines_.begin(), engines_.end(), engine.engine);
      if (found == engines_.end()) continue;
      RETURN_IF_ERROR(StillWanted(stop_));
      EngineWait wait = WaitOf(static_cast<uint32_t>(found - engines_.begin()), engine.busy.Pieces());
      if (wait.wait_ns > 0) made.engines.push_back(std::move(wait));
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

  // Most rows have the engine and the opcode of one of the few before them.
  struct Recent {
    const PartReader* reader = nullptr;
    int64_t engine = 0;
    int64_t opcode = 0;
    uint32_t number = 0;  // of the engine
    bool is_semaphore = false;
  };
  Result<const Recent*> Look(ProfileTexts& texts, int64_t engine, int64_t opcode) {
    Recent& recent = recent_[(static_cast<uint64_t>(engine) * 31 + static_cast<uint64_t>(opcode)) % kRecent];
    if (recent.reader == texts.reader() && recent.engine == engine && recent.opcode == opcode) return &recent;
    ASSIGN_OR_RETURN(const std::string* const name, texts.Find(engine));
    ASSIGN_OR_RETURN(const std::string* const text, texts.Find(opcode));
    recent = {texts.reader(), engine, opcode, EngineNumber(EngineNameOf(*name)), *text == kSemaphoreOpcode};
    return &recent;
  }

  Status ReadInstructions() {
    using enum NeuronInstructionColumn;
    return ForEachProfileRow<NeuronInstructionColumn>(
        traces_, profile_, NeuronInstructionSideTable(),
        {kEngine, kCore, kOpcode, kStart, kDuration, kWait, kFile, kLine, kFrames, kKernelInstruction}, stop_,
        [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts) -> Status {
          if ((row[kCore] == kNoValue ? 0 : row[kCore]) != core_ || row[kStart] == kNoValue || are_too_many_) {
            return OkStatus();
          }
          ASSIGN_OR_RETURN(const Recent* const of, Look(texts, row[kEngine], row[kOpcode]));
          const int64_t begin = SafeTime(row[kStart]);
          const int64_t end = SafeEndOf(begin, row[kDuration]);
          const int64_t before =
              row[kWait] > 0 ? std::max(begin - std::min(row[kWait], kMostWaitNs), INT64_MIN / 2) : begin;
          const int64_t until = of->is_semaphore ? end : begin;
          if (before < until && before < window_.to_ns && until > window_.from_ns) {
            waits_[of->number].push_back({before, until});
            ++kept_;
          }
          if (!of->is_semaphore && IsInWindow(end)) {
            ASSIGN_OR_RETURN(const size_t line,
                             lines_.Find(texts, row[kFile], row[kLine], row[kFrames], row[kKernelInstruction]));
            ended_.push_back({end, WhoOf(of->number, line), of->number});
            ++kept_;
          }
          return kept_ < kKeptAtOnce ? OkStatus() : Charge();
        });
  }

  // The number of an engine's line.
  uint32_t WhoOf(uint32_t engine, size_t line) {
    std::vector<uint32_t>& of = who_of_[engine];
    if (of.size() <= line) of.resize(line + 1, kNobodyEnded);
    if (of[line] == kNobodyEnded) {
      of[line] = static_cast<uint32_t>(who_.size());
      who_.push_back({engines_[engine], false, line});
    }
    return of[line];
  }

  // Work that ended before the window ends no wait in it.
  bool IsInWindow(int64_t end_ns) const { return end_ns >= window_.from_ns && end_ns - kCutNs <= window_.to_ns; }

  // Asks for the memory of the rows that were kept since the last time.
  Status Charge() {
    all_kept_ += kept_;
    RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(std::exchange(kept_, size_t{0}) * sizeof(Ended))));
    if (all_kept_ <= kMostWaitRows) return OkStatus();
    are_too_many_ = true;
    ended_ = {};
    ended_dma_ = {};
    waits_.assign(waits_.size(), {});
    charge_.Free();
    return OkStatus();
  }

  Status ReadDma() {
    using enum NeuronDmaColumn;
    std::map<std::pair<const PartReader*, int64_t>, uint32_t> queues;
    std::map<std::string, uint32_t> by_name;
    return ForEachProfileRow<NeuronDmaColumn>(
        traces_, profile_, NeuronDmaSideTable(), {kQueue, kCore, kStart, kDuration, kAggregated, kDuplicate}, stop_,
        [&](const ReportRow<NeuronDmaColumn>& row, ProfileTexts& texts) -> Status {
          if ((row[kCore] == kNoValue ? 0 : row[kCore]) != core_ || row[kStart] == kNoValue || row[kDuplicate] == 1 ||
              are_too_many_) {
            return OkStatus();
          }
          const int64_t end = SafeEndOf(SafeTime(row[kStart]), row[kDuration]);
          if (!IsInWindow(end)) return OkStatus();
          const auto [queue, is_new] = queues.try_emplace({texts.reader(), row[kQueue]}, 0);
          if (is_new) {
            ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kQueue]));
            const auto [number, is_unseen] = by_name.try_emplace(*name, static_cast<uint32_t>(who_.size()));
            if (is_unseen) who_.push_back({*name, true, 0});
            queue->second = number->second;
          }
          if (++kept_ >= kKeptAtOnce) RETURN_IF_ERROR(Charge());
          ended_dma_[row[kAggregated] == 1 ? 1 : 0].push_back({end, queue->second, kDmaEngine});
          return OkStatus();
        });
  }

  uint32_t EngineNumber(const std::string& name) {
    const auto found = std::find(engines_.begin(), engines_.end(), name);
    if (found != engines_.end()) return static_cast<uint32_t>(found - engines_.begin());
    engines_.push_back(name);
    waits_.emplace_back();
    who_of_.emplace_back();
    return static_cast<uint32_t>(engines_.size() - 1);
  }

  EngineWait WaitOf(uint32_t engine, const std::vector<Interval>& busy) {
    EngineWait made{engines_[engine], 0, {}};
    std::vector<Interval>& waits = waits_[engine];
    const auto before = [](const Interval& one, const Interval& other) {
      return std::tuple(one.begin_ns, one.end_ns) < std::tuple(other.begin_ns, other.end_ns);
    };
    if (!std::is_sorted(waits.begin(), waits.end(), before)) std::sort(waits.begin(), waits.end(), before);
    std::vector<std::pair<int64_t, int64_t>> sums(who_.size() + 1);  // ns and waits, by who; the last is of nobody
    int64_t covered_ns = window_.from_ns;
    size_t ended = 0;
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
      // Waits that count end one after the other.
      while (ended < ended_.size() && ended_[ended].end_ns <= wait.end_ns + kCutNs) ++ended;
      const uint32_t who = wait.end_ns > window_.to_ns ? kNobodyEnded : EnderOf(wait, ended, engine);
      auto& [sum_ns, count] = sums[std::min<size_t>(who, who_.size())];
      sum_ns += left;
      ++count;
    }
    // Frames of one line that differ are one line here.
    std::map<std::tuple<std::string, bool, std::string, int64_t>, WaitedFor> by_name;
    for (size_t who = 0; who < sums.size(); ++who) {
      if (sums[who].second == 0) continue;
      WaitedFor one;
      if (who < who_.size()) {
        one.who = who_[who].name;
        one.is_dma = who_[who].is_dma;
        one.line = lines_.line(who_[who].line);
      }
      WaitedFor& all = by_name.try_emplace({one.who, one.is_dma, one.line.file, one.line.line}, one).first->second;
      all.wait_ns += sums[who].first;
      all.waits += sums[who].second;
    }
    for (auto& [name, one] : by_name) made.waited_for.push_back(std::move(one));
    std::stable_sort(made.waited_for.begin(), made.waited_for.end(),
                     [](const WaitedFor& one, const WaitedFor& other) { return one.wait_ns > other.wait_ns; });
    return made;
  }

  // The other one that ended last before the wait did, of the first `ended`.
  uint32_t EnderOf(const Interval& wait, size_t ended, uint32_t engine) const {
    for (int i = 0; i < kMostPassed && ended > 0; ++i) {
      const Ended& one = ended_[--ended];
      if (one.end_ns < wait.begin_ns) break;
      if (one.engine != engine) return one.who;
    }
    return kNobodyEnded;
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
  std::vector<std::vector<Interval>> waits_;     // by engine
  std::vector<std::vector<uint32_t>> who_of_;    // by engine and line
  static constexpr size_t kRecent = 256;
  std::array<Recent, kRecent> recent_;
  size_t kept_ = 0;  // rows whose memory is not asked for yet
  size_t all_kept_ = 0;
  bool are_too_many_ = false;
};

}  // namespace

Result<EngineWaits> ReadEngineWaits(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const ProfileWindow& window, int64_t core, ProfileWork& work,
                                    const StopSignal& stop) {
  return WaitsReader(traces, profile, window, core, stop).Read(work);
}

}  // namespace kprof
