#include "daemon/ingest/ncu/section_names.h"

#include "daemon/ingest/ncu/metric_units.h"

namespace kprof {
namespace {

constexpr SectionName kSections[] = {
    {"SpeedOfLight", "GPU Speed Of Light Throughput", 10},
    {"SpeedOfLight", "GPU Speed Of Light", 10},  // until 2021
    {"SpeedOfLight_RooflineChart", "GPU Speed Of Light Roofline Chart", 11},
    {"SpeedOfLight_HierarchicalDoubleRooflineChart",
     "GPU Speed Of Light Hierarchical Roofline Chart (Double Precision)", 12},
    {"SpeedOfLight_HierarchicalHalfRooflineChart", "GPU Speed Of Light Hierarchical Roofline Chart (Half Precision)",
     12},
    {"SpeedOfLight_HierarchicalSingleRooflineChart",
     "GPU Speed Of Light Hierarchical Roofline Chart (Single Precision)", 12},
    {"SpeedOfLight_HierarchicalTensorRooflineChart", "GPU Speed Of Light Hierarchical Roofline Chart (Tensor Core)",
     12},
    {"PmSampling", "PM Sampling", 15},
    {"PmSampling_WarpStates", "PM Sampling: Warp States", 16},
    {"ComputeWorkloadAnalysis", "Compute Workload Analysis", 20},
    {"MemoryWorkloadAnalysis", "Memory Workload Analysis", 30},
    {"MemoryWorkloadAnalysis_Chart", "Memory Workload Analysis Chart", 31},
    {"MemoryWorkloadAnalysis_Tables", "Memory Workload Analysis Tables", 32},
    {"SchedulerStats", "Scheduler Statistics", 40},
    {"WarpStateStats", "Warp State Statistics", 50},
    {"InstructionStats", "Instruction Statistics", 60},
    {"Nvlink", "NVLink", 60},
    {"Nvlink_Topology", "NVLink Topology", 61},
    {"Nvlink_Tables", "NVLink Tables", 62},
    {"NumaAffinity", "NUMA Affinity", 63},
    {"C2CLink", "C2CLink", 64},
    {"LaunchStats", "Launch Statistics", 70},
    {"Occupancy", "Occupancy", 80},
    {"SourceCounters", "Source Counters", 100},
    {"WorkloadDistribution", "GPU and Memory Workload Distribution", 100},
};

struct LabelledMetric {
  std::string_view section;
  std::string_view label;
  std::string_view metric;
};

constexpr LabelledMetric kLabelledMetrics[] = {
    {"SpeedOfLight", "DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
    {"SpeedOfLight", "SM Frequency", "gpc__cycles_elapsed.avg.per_second"},
    {"SpeedOfLight", "Elapsed Cycles", "gpc__cycles_elapsed.max"},
    {"SpeedOfLight", "Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "Memory [%]", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SOL Memory", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SOL DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "Duration", "gpu__time_duration.sum"},
    {"SpeedOfLight", "L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"SpeedOfLight", "SOL L1/TEX Cache", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"SpeedOfLight", "L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SOL L2 Cache", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SM Active Cycles", "sm__cycles_active.avg"},
    {"SpeedOfLight", "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SM [%]", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SpeedOfLight", "SOL SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"ComputeWorkloadAnalysis", "Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"},
    {"ComputeWorkloadAnalysis", "Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"},
    {"ComputeWorkloadAnalysis", "Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"},
    {"ComputeWorkloadAnalysis", "Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active"},
    {"ComputeWorkloadAnalysis", "SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"},
    {"MemoryWorkloadAnalysis", "Memory Throughput", "dram__bytes.sum.per_second"},
    {"MemoryWorkloadAnalysis", "Mem Busy", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"MemoryWorkloadAnalysis", "Max Bandwidth",
     "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"MemoryWorkloadAnalysis", "L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"},
    {"MemoryWorkloadAnalysis", "L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
    {"MemoryWorkloadAnalysis", "Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"MemoryWorkloadAnalysis", "L2 Compression Success Rate", "lts__average_gcomp_input_sector_success_rate.pct"},
    {"SchedulerStats", "One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"SchedulerStats", "Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"},
    {"SchedulerStats", "No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"},
    {"SchedulerStats", "Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"},
    {"SchedulerStats", "Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"},
    {"WarpStateStats", "Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"},
    {"WarpStateStats", "Warp Cycles Per Executed Instruction", "smsp__average_warps_active_per_inst_executed.ratio"},
    {"WarpStateStats", "Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"},
    {"WarpStateStats", "Avg. Not Predicated Off Threads Per Warp",
     "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    {"InstructionStats", "Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg"},
    {"InstructionStats", "Executed Instructions", "smsp__inst_executed.sum"},
    {"InstructionStats", "Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg"},
    {"InstructionStats", "Issued Instructions", "smsp__inst_issued.sum"},
    {"LaunchStats", "Block Size", "launch__block_size"},
    {"LaunchStats", "Cluster Size", "launch__cluster_size"},
    {"LaunchStats", "Function Cache Configuration", "launch__func_cache_config"},
    {"LaunchStats", "Grid Size", "launch__grid_size"},
    {"LaunchStats", "Registers Per Thread", "launch__registers_per_thread"},
    {"LaunchStats", "Shared Memory Configuration Size", "launch__shared_mem_config_size"},
    {"LaunchStats", "Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"},
    {"LaunchStats", "Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"},
    {"LaunchStats", "Static Shared Memory Per Block", "launch__shared_mem_per_block_static"},
    {"LaunchStats", "# SMs", "launch__sm_count"},
    {"LaunchStats", "Stack Size", "launch__stack_size"},
    {"LaunchStats", "Threads", "launch__thread_count"},
    {"LaunchStats", "Uses Green Context", "launch__uses_green_context"},
    {"LaunchStats", "Waves Per SM", "launch__waves_per_multiprocessor"},
    {"Occupancy", "Block Limit SM", "launch__occupancy_limit_blocks"},
    {"Occupancy", "Block Limit Registers", "launch__occupancy_limit_registers"},
    {"Occupancy", "Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"},
    {"Occupancy", "Block Limit Warps", "launch__occupancy_limit_warps"},
    {"Occupancy", "Block Limit Barriers", "launch__occupancy_limit_barriers"},
    {"Occupancy", "Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle"},
    {"Occupancy", "Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
    {"Occupancy", "Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"Occupancy", "Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"},
    {"WorkloadDistribution", "Average DRAM Active Cycles", "dram__cycles_active.avg"},
    {"WorkloadDistribution", "Total DRAM Elapsed Cycles", "dram__cycles_elapsed.sum"},
    {"WorkloadDistribution", "Average L1 Active Cycles", "l1tex__cycles_active.avg"},
    {"WorkloadDistribution", "Total L1 Elapsed Cycles", "l1tex__cycles_elapsed.sum"},
    {"WorkloadDistribution", "Average L2 Active Cycles", "lts__cycles_active.avg"},
    {"WorkloadDistribution", "Total L2 Elapsed Cycles", "lts__cycles_elapsed.sum"},
    {"WorkloadDistribution", "Average SM Active Cycles", "sm__cycles_active.avg"},
    {"WorkloadDistribution", "Total SM Elapsed Cycles", "sm__cycles_elapsed.sum"},
    {"WorkloadDistribution", "Average SMSP Active Cycles", "smsp__cycles_active.avg"},
    {"WorkloadDistribution", "Total SMSP Elapsed Cycles", "smsp__cycles_elapsed.sum"},
    {"SourceCounters", "Branch Instructions Ratio", "derived__smsp__inst_executed_op_branch_pct"},
    {"SourceCounters", "Branch Instructions", "smsp__inst_executed_op_branch.sum"},
    {"SourceCounters", "Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"},
    {"SourceCounters", "Avg. Divergent Branches", "smsp__sass_branch_targets_threads_divergent.avg"},
};

}  // namespace

const SectionName* FindSection(std::string_view name) {
  for (const SectionName& each : kSections) {
    if (name == each.title || name == each.identifier) return &each;
  }
  return nullptr;
}

std::string_view FindMetricOfSection(std::string_view section, std::string_view label, std::string_view unit) {
  for (const LabelledMetric& each : kLabelledMetrics) {
    if (section != each.section || label != each.label) continue;
    // A version that shows another metric under this label: it keeps its label.
    return unit.empty() || UnitOfMetric(each.metric) == unit ? each.metric : std::string_view();
  }
  return {};
}

}  // namespace kprof
