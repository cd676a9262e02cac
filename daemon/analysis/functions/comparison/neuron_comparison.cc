#include "daemon/analysis/functions/comparison/neuron_comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/core_utilization.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/neuron_first_look.h"

namespace kprof {
namespace {

class NeuronComparer {
 public:
  explicit NeuronComparer(const StopSignal& stop) : stop_(stop) {}

  Status Read(Side side, const AnalysisTraces& traces) {
    side_ = side;
    ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(traces, stop_));
    for (const DeviceProfile& profile : profiles) {
      rank_ = profile.rank;
      RETURN_IF_ERROR(AddProfile(traces, profile));
    }
    ASSIGN_OR_RETURN(const NeuronRuntimeLooks looks, LookAtNeuronRuntime(traces, stop_));
    for (const NeuronRuntimeLook& look : looks.ranks) {
      rank_ = look.rank;
      AddRuntime(look);
    }
    return OkStatus();
  }

  std::vector<ComparedNeuronFigure> Take() {
    std::vector<ComparedNeuronFigure> made;
    for (auto& [rank, rows] : ranks_) {
      for (Row& row : rows) {
        ComparedNeuronFigure& change = made.emplace_back();
        change.rank = rank;
        change.what = std::move(row.what);
        change.unit = row.unit;
        for (const Side side : {kBefore, kAfter}) {
          const auto [sum, count] = row.sums[side];
          if (count > 0) change.values[side] = sum / count;
        }
      }
    }
    return made;
  }

 private:
  struct Row {
    std::string what;
    const char* unit = "";
    OfSides<std::pair<double, int>> sums{};  // with how many there are
  };

  void Add(const std::string& what, const char* unit, std::optional<double> value) {
    if (!value) return;
    std::vector<Row>& rows = ranks_[rank_];
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.what == what; });
    if (row == rows.end()) row = rows.insert(rows.end(), {what, unit});
    row->sums[side_].first += *value;
    ++row->sums[side_].second;
  }

  Status AddProfile(const AnalysisTraces& traces, const DeviceProfile& profile) {
    const ProfileWindow whole;
    ASSIGN_OR_RETURN(ProfileWork work, ReadProfileWork(traces, profile, whole, std::nullopt, stop_));
    ASSIGN_OR_RETURN(const CorePeaks peaks, CorePeaks::Find(profile));
    const ProfileTotal total = TotalOf(profile, work, whole);
    if (total.ns > 0) Add("execution", "ns", static_cast<double>(total.ns));
    const auto of_core = [&work](int64_t core) {
      return work.cores.size() < 2 ? std::string() : ", core " + std::to_string(core);
    };
    for (EngineWork& engine : work.engines) {
      Add(engine.engine + " engine active" + of_core(engine.core), "ns", static_cast<double>(engine.busy.LengthNs()));
    }
    double bytes = 0;
    for (DmaWork& dma : work.dma) {
      if (dma.packets > 0) Add("DMA active" + of_core(dma.core), "ns", static_cast<double>(dma.busy.LengthNs()));
      bytes += static_cast<double>(dma.transfers > 0 ? dma.transfer_bytes : dma.payload_bytes);
    }
    if (work.cores.empty()) {
      for (const std::string_view name : kEngineNames) {
        Add(std::string(name) + " engine active", "ns", profile.Find(std::string(name) + "_engine_active_time"));
      }
      Add("DMA active", "ns", profile.Find("dma_active_time"));
      Add("DMA bytes", "bytes", profile.Find("dma_transfer_total_bytes"));
    } else if (!work.dma.empty()) {
      Add("DMA bytes", "bytes", bytes);
    }
    Add("spills reloaded", "bytes",
        SummedOr(profile, work, whole, &InstructionSums::spill_reload, "spill_reload_bytes"));
    const std::vector<CoreUtilization> used = UtilizationOf(profile, work, peaks, total, whole);
    Add("MFU", "percent", FindUtilization(used, "mfu"));
    Add("MBU", "percent", FindUtilization(used, "mbu"));
    return OkStatus();
  }

  void AddRuntime(const NeuronRuntimeLook& look) {
    Add("executions", "count", static_cast<double>(look.executions));
    Add("device (NC) time", "ns", static_cast<double>(look.nc_ns));
    Add("host (NRT) time", "ns", static_cast<double>(look.nrt_ns));
    if (look.wall_ns) Add("trace of all cores", "ns", static_cast<double>(*look.wall_ns));
    if (look.wall_ns && look.busy_ns) Add("cores idle", "ns", static_cast<double>(*look.wall_ns - *look.busy_ns));
  }

  const StopSignal& stop_;
  Side side_ = kBefore;
  std::optional<int64_t> rank_;
  std::map<std::optional<int64_t>, std::vector<Row>> ranks_;
};

}  // namespace

Result<std::vector<ComparedNeuronFigure>> CompareNeuron(const OfSides<ComparedSide>& sides, const StopSignal& stop) {
  NeuronComparer comparer(stop);
  for (const Side side : {kBefore, kAfter}) RETURN_IF_ERROR(comparer.Read(side, sides[side].traces));
  return comparer.Take();
}

}  // namespace kprof
