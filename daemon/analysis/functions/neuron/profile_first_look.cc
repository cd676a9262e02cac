#include "daemon/analysis/functions/neuron/profile_first_look.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/core_utilization.h"

namespace kprof {
namespace {

constexpr size_t kMostTop = 5;
constexpr double kMostlyActive = 50;  // percent
constexpr size_t kMostTopLines = 100'000;

double PartOf(int64_t part, int64_t whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void TakeWork(ProfileWork& work, ProfileFirstLook& look) {
  std::vector<Interval> active;
  int64_t longest_ns = 0;
  const auto take = [&](const std::string& name, BusyUnion& busy) {
    active = UnionOf(active, busy.Pieces());
    if (busy.LengthNs() <= longest_ns) return;
    longest_ns = busy.LengthNs();
    look.busiest = name;
  };
  for (EngineWork& engine : work.engines) take(engine.engine, engine.busy);
  for (DmaWork& dma : work.dma) {
    if (dma.packets == 0) continue;
    take("dma", dma.busy);
    look.dma_percent = std::max(look.dma_percent.value_or(0), PartOf(dma.busy.LengthNs(), look.wall_ns));
  }
  look.active_percent = PartOf(LengthOf(active), look.wall_ns);
  if (!look.busiest.empty()) look.busiest_percent = PartOf(longest_ns, look.wall_ns);
}

// A summary alone.
void TakeSummary(const DeviceProfile& profile, ProfileFirstLook& look) {
  look.active_percent = profile.Find("total_active_time_percent");
  look.dma_percent = profile.Find("dma_active_time_percent");
  for (const std::string_view name : kEngineNames) {
    const std::optional<double> percent = profile.Find(std::string(name) + "_engine_active_time_percent");
    if (!percent || *percent <= look.busiest_percent.value_or(0)) continue;
    look.busiest = name;
    look.busiest_percent = percent;
  }
  if (look.dma_percent && *look.dma_percent > look.busiest_percent.value_or(0)) {
    look.busiest = "dma";
    look.busiest_percent = look.dma_percent;
  }
}

class TopReader {
 public:
  TopReader(const AnalysisTraces& traces, const DeviceProfile& profile, const StopSignal& stop)
      : traces_(traces), profile_(profile), stop_(stop) {}

  Result<std::vector<ProfileFirstLook::Top>> Read() {
    using enum NeuronInstructionColumn;
    ASSIGN_OR_RETURN(lines_, SourceLines::Read(traces_, profile_, stop_));
    RETURN_IF_ERROR(ForEachProfileRow<NeuronInstructionColumn>(
        traces_, profile_, NeuronInstructionSideTable(),
        {kEngine, kOpcode, kStart, kDuration, kFile, kLine, kFrames, kKernelInstruction}, stop_,
        [&](const ReportRow<NeuronInstructionColumn>& row, ProfileTexts& texts) -> Status {
          if (row[kStart] == kNoValue || row[kDuration] == kNoValue) return OkStatus();
          ASSIGN_OR_RETURN(Sum* const sum, SumOf(texts, row[kEngine], row[kOpcode]));
          if (sum == nullptr) return OkStatus();
          const int64_t ns = std::max<int64_t>(row[kDuration], 0);
          sum->Add(ns);
          all_ns_ = SaturatingSum(all_ns_, ns);
          ASSIGN_OR_RETURN(const size_t line,
                           lines_.Find(texts, row[kFile], row[kLine], row[kFrames], row[kKernelInstruction]));
          if (line == 0 || line > kMostTopLines) return OkStatus();
          if (by_line_.size() <= line) by_line_.resize(line + 1);
          by_line_[line].Add(ns);
          return OkStatus();
        }));
    return Make();
  }

 private:
  struct Sum {
    int64_t count = 0;
    int64_t ns = 0;
    void Add(int64_t more_ns) {
      ++count;
      ns = SaturatingSum(ns, more_ns);
    }
  };

  // Null: it only waits.
  Result<Sum*> SumOf(ProfileTexts& texts, int64_t engine, int64_t opcode) {
    const std::tuple key(texts.reader(), engine, opcode);
    if (key == last_key_) return last_;
    const auto [known, is_new] = known_.try_emplace(key, nullptr);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string* const opcode_text, texts.Find(opcode));
      ASSIGN_OR_RETURN(const std::string* const engine_text, texts.Find(engine));
      if (*opcode_text != kSemaphoreOpcode) known->second = &by_opcode_[{EngineNameOf(*engine_text), *opcode_text}];
    }
    last_key_ = key;
    return last_ = known->second;
  }

  std::vector<ProfileFirstLook::Top> Make() {
    std::vector<ProfileFirstLook::Top> top;
    const auto add = [&](const Sum& sum) -> ProfileFirstLook::Top& {
      ProfileFirstLook::Top& one = top.emplace_back();
      one.count = sum.count;
      one.sum_ns = sum.ns;
      one.percent = PartOf(sum.ns, all_ns_);
      return one;
    };
    for (size_t line = 1; line < by_line_.size(); ++line) {
      if (by_line_[line].count > 0) add(by_line_[line]).line = lines_.line(line);
    }
    if (top.empty()) {
      for (const auto& [name, sum] : by_opcode_) {
        ProfileFirstLook::Top& one = add(sum);
        one.engine = name.first;
        one.opcode = name.second;
      }
    }
    std::stable_sort(top.begin(), top.end(),
                     [](const auto& one, const auto& other) { return one.sum_ns > other.sum_ns; });
    top.resize(std::min(top.size(), kMostTop));
    return top;
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const StopSignal& stop_;
  SourceLines lines_;
  std::map<std::tuple<const PartReader*, int64_t, int64_t>, Sum*> known_;
  std::map<std::pair<std::string, std::string>, Sum> by_opcode_;
  std::tuple<const PartReader*, int64_t, int64_t> last_key_;
  Sum* last_ = nullptr;
  std::vector<Sum> by_line_;
  int64_t all_ns_ = 0;
};

}  // namespace

Result<ProfileFirstLook> LookAtProfile(const AnalysisTraces& traces, const DeviceProfile& profile,
                                       const StopSignal& stop) {
  const ProfileWindow whole;
  ProfileFirstLook look;
  ASSIGN_OR_RETURN(ProfileWork work, ReadProfileWork(traces, profile, whole, std::nullopt, stop));
  ASSIGN_OR_RETURN(const CorePeaks peaks, CorePeaks::Find(profile));
  const ProfileTotal total = TotalOf(profile, work, whole);
  look.wall_ns = total.ns;
  look.cores = work.cores.size();
  if (work.cores.empty()) {
    TakeSummary(profile, look);
  } else {
    TakeWork(work, look);
  }
  if (!look.dma_percent) {
    // DMA that nobody recorded may be what works longest, and while nothing else does.
  } else if (look.active_percent && *look.active_percent < kMostlyActive) {
    look.bound = "latency";
  } else if (!look.busiest.empty()) {
    look.bound = look.busiest == "dma" ? "memory" : "compute";
  }
  const std::vector<CoreUtilization> used = UtilizationOf(profile, work, peaks, total, whole);
  look.mfu_percent = FindUtilization(used, "mfu");
  look.mbu_percent = FindUtilization(used, "mbu");
  look.spill_reload_bytes = SummedOr(profile, work, whole, &InstructionSums::spill_reload, "spill_reload_bytes");
  ASSIGN_OR_RETURN(look.top, TopReader(traces, profile, stop).Read());
  return look;
}

}  // namespace kprof
