#include "daemon/analysis/functions/kernel_reports/report_quantities.h"

#include <array>
#include <charconv>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/base/status.h"

namespace kprof {
namespace {

using Names = std::vector<std::string_view>;

constexpr const char* kSpeed = "Speed of light";
constexpr const char* kOccupancySection = "Occupancy and launch";
constexpr const char* kMemorySection = "Memory";
constexpr const char* kWarpSection = "Warps";
constexpr const char* kBalanceSection = "Balance";
constexpr const char* kClockSection = "Clocks and peaks";

struct QuantityRow {
  Quantity quantity;
  const char* label;
  const char* section;
  const char* unit;
  Names names;
  const char* healthy = "";
  const char* issue = "";
  const char* hint = "";
};

std::vector<QuantityRow> SpeedRows() {
  using enum Quantity;
  return {
      {kDuration,
       "Duration",
       kSpeed,
       "ns",
       {"gpu__time_duration.sum", "gpu__time_duration.max", "gpu__time_active.sum"}},
      {kComputeSol, "Compute throughput", kSpeed, "%", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {kMemorySol,
       "Memory throughput",
       kSpeed,
       "%",
       {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
      {kDramThroughput,
       "DRAM throughput",
       kSpeed,
       "%",
       {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
       "> 70",
       "Compute or latency bound",
       "Check the tensor pipe and the occupancy"},
      {kL1Throughput,
       "L1 throughput",
       kSpeed,
       "%",
       {"l1tex__throughput.avg.pct_of_peak_sustained_active", "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {kL2Throughput,
       "L2 throughput",
       kSpeed,
       "%",
       {"lts__throughput.avg.pct_of_peak_sustained_elapsed", "lts__throughput.avg.pct_of_peak_sustained_active"}},
      {kTensorPipe,
       "Tensor pipe active",
       kSpeed,
       "%",
       {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_subpipe_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_subpipe_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_subpipe_imma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_subpipe_imma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_subpipe_dmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_subpipe_dmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor_op_dmma.avg.pct_of_peak_sustained_active"},
       "> 60",
       "Memory or latency bound",
       "Check the DRAM throughput and the occupancy"},
      {kFmaPipe,
       "FMA pipe active",
       kSpeed,
       "%",
       {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active"}},
      {kIssueSlots,
       "Issue slots busy",
       kSpeed,
       "%",
       {"sm__inst_issued.avg.pct_of_peak_sustained_active", "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "sm__instruction_throughput.avg.pct_of_peak_sustained_active"}},
  };
}

std::vector<QuantityRow> LaunchRows() {
  using enum Quantity;
  return {
      {kAchievedOccupancy,
       "Achieved occupancy",
       kOccupancySection,
       "%",
       {"sm__warps_active.avg.pct_of_peak_sustained_active"},
       "> 25",
       "Register or shared-memory pressure",
       "Reduce the tile size; give an occupancy hint"},
      {kTheoreticalOccupancy,
       "Theoretical occupancy",
       kOccupancySection,
       "%",
       {"sm__maximum_warps_per_active_cycle_pct"}},
      {kLimitBlocks, "Blocks that slots allow", kOccupancySection, "block", {"launch__occupancy_limit_blocks"}},
      {kLimitRegisters,
       "Blocks that registers allow",
       kOccupancySection,
       "block",
       {"launch__occupancy_limit_registers"}},
      {kLimitShared,
       "Blocks that shared memory allows",
       kOccupancySection,
       "block",
       {"launch__occupancy_limit_shared_mem"}},
      {kLimitWarps, "Blocks that warps allow", kOccupancySection, "block", {"launch__occupancy_limit_warps"}},
      {kLimitBarriers, "Blocks that barriers allow", kOccupancySection, "block", {"launch__occupancy_limit_barriers"}},
      {kWaves,
       "Waves per SM",
       kOccupancySection,
       "",
       {"launch__waves_per_multiprocessor"},
       "> 1",
       "Underfilled GPU",
       "More blocks, fewer resources per block"},
      {kRegisters, "Registers per thread", kOccupancySection, "register/thread", {"launch__registers_per_thread"}},
      {kSharedPerBlock,
       "Shared memory per block",
       kOccupancySection,
       "byte/block",
       {"launch__shared_mem_per_block", "launch__shared_mem_per_block_allocated"}},
      {kGridBlocks, "Blocks of the grid", kOccupancySection, "block", {"launch__grid_size"}},
      {kBlockThreads, "Threads of a block", kOccupancySection, "thread", {"launch__block_size"}},
      {kSmCount, "SMs", kOccupancySection, "", {"launch__sm_count", "device__attribute_multiprocessor_count"}},
  };
}

std::vector<QuantityRow> MemoryRows() {
  using enum Quantity;
  return {
      {kL1Hit, "L1 hit rate", kMemorySection, "%", {"l1tex__t_sector_hit_rate.pct"}},
      {kL2Hit,
       "L2 hit rate",
       kMemorySection,
       "%",
       {"lts__t_sector_hit_rate.pct"},
       "> 80",
       "Poor data reuse",
       "Swizzled scheduling, larger tiles, another data layout"},
      {kLocalLoads,
       "Local loads",
       kMemorySection,
       "inst",
       {"smsp__inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_ld.sum",
        "sass__inst_executed_local_loads", "smsp__inst_executed_op_local_ld",
        "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"}},
      {kLocalStores,
       "Local stores",
       kMemorySection,
       "inst",
       {"smsp__inst_executed_op_local_st.sum", "smsp__sass_inst_executed_op_local_st.sum",
        "sass__inst_executed_local_stores", "smsp__inst_executed_op_local_st",
        "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"}},
      {kSpillBytes,
       "Local memory traffic",
       kMemorySection,
       "byte",
       {"l1tex__t_bytes_pipe_lsu_mem_local.sum", "smsp__sass_data_bytes_mem_local.sum"},
       "0",
       "Register overflow",
       "Smaller tiles, fewer accumulators"},
      {kLoadCoalescing,
       "Bytes used of loaded sectors",
       kMemorySection,
       "%",
       {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"}},
      {kStoreCoalescing,
       "Bytes used of stored sectors",
       kMemorySection,
       "%",
       {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"}},
      {kLoadSectors,
       "Sectors per global load",
       kMemorySection,
       "sector/request",
       {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"}},
      {kStoreSectors,
       "Sectors per global store",
       kMemorySection,
       "sector/request",
       {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"}},
      {kGlobalSectors,
       "L2 sectors of global accesses",
       kMemorySection,
       "sector",
       {"memory_l2_theoretical_sectors_global"}},
      {kGlobalSectorsIdeal,
       "The same, if coalesced",
       kMemorySection,
       "sector",
       {"memory_l2_theoretical_sectors_global_ideal"}},
      {kSharedWavefronts, "Wavefronts of shared memory", kMemorySection, "", {"memory_l1_wavefronts_shared"}},
      {kSharedWavefrontsIdeal,
       "The same, without conflicts",
       kMemorySection,
       "",
       {"memory_l1_wavefronts_shared_ideal"}},
      {kLoadConflicts,
       "Bank conflicts of shared loads",
       kMemorySection,
       "",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}},
      {kStoreConflicts,
       "Bank conflicts of shared stores",
       kMemorySection,
       "",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}},
      {kLoadWavefronts,
       "Wavefronts of shared loads",
       kMemorySection,
       "",
       {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}},
      {kStoreWavefronts,
       "Wavefronts of shared stores",
       kMemorySection,
       "",
       {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
      {kDramBytes, "DRAM traffic", kMemorySection, "byte", {"dram__bytes.sum"}},
      {kDramReadBytes, "DRAM reads", kMemorySection, "byte", {"dram__bytes_read.sum"}},
      {kDramWriteBytes, "DRAM writes", kMemorySection, "byte", {"dram__bytes_write.sum"}},
      {kDramRate, "DRAM bandwidth", kMemorySection, "byte/s", {"dram__bytes.sum.per_second"}},
      {kL2Bytes, "L2 traffic", kMemorySection, "byte", {"lts__t_bytes.sum"}},
      {kL2Sectors, "L2 sectors", kMemorySection, "sector", {"lts__t_sectors.sum"}},
      {kL1Bytes, "L1 traffic", kMemorySection, "byte", {"l1tex__t_bytes.sum"}},
      {kL1Sectors, "L1 sectors", kMemorySection, "sector", {"l1tex__t_sectors.sum"}},
  };
}

std::vector<QuantityRow> WarpRows() {
  using enum Quantity;
  return {
      {kInstructions,
       "Instructions of warps",
       kWarpSection,
       "inst",
       {"smsp__inst_executed.sum", "sm__inst_executed.sum"}},
      {kActiveThreads,
       "Active threads per warp",
       kWarpSection,
       "thread/warp",
       {"smsp__thread_inst_executed_per_inst_executed.ratio",
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"}},
      {kBranchUniformity,
       "Branches that a warp takes together",
       kWarpSection,
       "%",
       {"smsp__sass_average_branch_targets_threads_uniform.pct"}},
      {kStallLongScoreboard,
       "Cycles per instruction waiting for L1/L2/DRAM",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"}},
      {kStallShortScoreboard,
       "Cycles per instruction waiting for shared memory",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"}},
      {kStallBarrier,
       "Cycles per instruction at barriers",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"}},
      {kStallMathPipe,
       "Cycles per instruction waiting for a math pipe",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"}},
      {kStallMioThrottle,
       "Cycles per instruction with a full MIO queue",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"}},
      {kStallLgThrottle,
       "Cycles per instruction with a full LSU queue",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"}},
      {kStallWait,
       "Cycles per instruction of fixed latency",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"}},
      {kIssueLatency,
       "Cycles between two instructions of a warp",
       kWarpSection,
       "cycle/inst",
       {"smsp__average_warp_latency_per_inst_issued.ratio", "smsp__average_warps_active_per_issue_active.ratio"}},
      {kSmCyclesMin, "Cycles of the least busy SM", kBalanceSection, "cycle", {"sm__cycles_active.min"}},
      {kSmCyclesMax, "Cycles of the busiest SM", kBalanceSection, "cycle", {"sm__cycles_active.max"}},
      {kSmCyclesMean, "Cycles of an SM", kBalanceSection, "cycle", {"sm__cycles_active.avg"}},
      {kSmClock,
       "SM clock",
       kClockSection,
       "hz",
       {"sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"}},
      {kSmspClock, "Clock of an SM's quarter", kClockSection, "hz", {"smsp__cycles_elapsed.avg.per_second"}},
      {kDramClock, "DRAM clock", kClockSection, "hz", {"dram__cycles_elapsed.avg.per_second"}},
      {kL2Clock, "L2 clock", kClockSection, "hz", {"lts__cycles_elapsed.avg.per_second"}},
      {kL1Clock, "L1 clock", kClockSection, "hz", {"l1tex__cycles_elapsed.avg.per_second"}},
      {kPeakFfma,
       "Peak FFMA per cycle",
       kClockSection,
       "inst/cycle",
       {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"}},
      {kPeakDramBytes, "Peak DRAM bytes per cycle", kClockSection, "byte/cycle", {"dram__bytes.sum.peak_sustained"}},
      {kPeakL2Bytes, "Peak L2 bytes per cycle", kClockSection, "byte/cycle", {"lts__t_bytes.sum.peak_sustained"}},
      {kPeakL1Bytes, "Peak L1 bytes per cycle", kClockSection, "byte/cycle", {"l1tex__t_bytes.sum.peak_sustained"}},
  };
}

const std::vector<QuantityRow>& QuantityRows() {
  static const std::vector<QuantityRow> kRows = [] {
    std::vector<QuantityRow> rows = SpeedRows();
    for (const std::vector<QuantityRow>& more : {LaunchRows(), MemoryRows(), WarpRows()}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    KPROF_CHECK(rows.size() == kQuantities);
    for (size_t i = 0; i < rows.size(); ++i) KPROF_CHECK(static_cast<size_t>(rows[i].quantity) == i);
    return rows;
  }();
  return kRows;
}

constexpr std::array<std::string_view, 3> kArithmeticPrefixes = {"smsp__sass_thread_inst_executed_op_",
                                                                 "sm__sass_thread_inst_executed_op_",
                                                                 "derived__smsp__sass_thread_inst_executed_op_"};
constexpr std::array<std::string_view, 9> kArithmeticOps = {"fadd", "fmul", "ffma", "dadd", "dmul",
                                                            "dfma", "hadd", "hmul", "hfma"};

// "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum".
bool IsArithmetic(std::string_view name) {
  for (const std::string_view prefix : kArithmeticPrefixes) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    for (const std::string_view op : kArithmeticOps) {
      if (rest.starts_with(op) && rest.substr(op.size()).starts_with("_pred_on")) return true;
    }
  }
  return name.starts_with(kTensorOpsPrefix) || name == kTensorInstructions;
}

constexpr std::pair<std::string_view, std::string_view> kOtherLabels[] = {
    {"smsp__issue_active.avg.pct_of_peak_sustained_active", "Cycles with an issue"},
    {"sm__instruction_throughput.avg.pct_of_peak_sustained_active", "SM busy"},
    {"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "Active threads per warp, not predicated off"},
};

// Where the name of an operation stands; npos: nowhere.
size_t TensorOpIn(std::string_view metric) {
  for (const std::string_view op : {"_hmma", "_imma", "_dmma"}) {
    if (const size_t at = metric.find(op); at != metric.npos) return at;
  }
  return metric.npos;
}

}  // namespace

std::string_view LabelOf(const QuantityWords& words, std::string_view metric) {
  for (const auto& [other, label] : kOtherLabels) {
    if (other == metric) return label;
  }
  return words.label;
}

bool AreTensorPeers(std::string_view metric, std::string_view other) {
  constexpr size_t kOpBytes = 5;
  const size_t at = TensorOpIn(metric);
  return at != metric.npos && at == TensorOpIn(other) && metric.substr(0, at) == other.substr(0, at) &&
         metric.substr(at + kOpBytes) == other.substr(at + kOpBytes);
}

const QuantityWords& WordsOf(Quantity quantity) {
  static const std::vector<QuantityWords> kWords = [] {
    std::vector<QuantityWords> words;
    for (const QuantityRow& row : QuantityRows()) {
      words.push_back({row.quantity, row.label, row.section, row.unit, row.names, row.healthy, row.issue, row.hint});
    }
    return words;
  }();
  return kWords[static_cast<size_t>(quantity)];
}

bool IsReportMetric(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = [] {
    std::unordered_set<std::string_view> names;
    for (const QuantityRow& row : QuantityRows()) names.insert(row.names.begin(), row.names.end());
    return names;
  }();
  return kNames.contains(name) || IsArithmetic(name);
}

bool IsPercentMetric(std::string_view name) {
  return name.find(".pct") != name.npos || name.find("pct_of_peak") != name.npos || name.ends_with("_pct");
}

bool IsMeanByTime(std::string_view name) {
  return IsPercentMetric(name) || name.find(".ratio") != name.npos || name.find(".per_") != name.npos ||
         name.find("_per_second") != name.npos || name.ends_with("_x2");
}

bool IsHealthy(const QuantityWords& words, double value) {
  const std::string_view healthy = words.healthy;
  if (healthy.empty()) return true;
  double limit = 0;
  const bool is_above = healthy.starts_with("> ");
  const std::string_view number = is_above ? healthy.substr(2) : healthy;
  std::from_chars(number.data(), number.data() + number.size(), limit);
  return is_above ? value > limit : value == limit;
}

}  // namespace kprof
