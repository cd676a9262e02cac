"""Numbers of kernels on an H200 that fit together, so that what is made of them can be looked at: a copy that waits for DRAM, a matrix product on tensor
cores. A launch that a test plays names those that it wants otherwise."""

SMS, CLOCK_HZ, DRAM_HZ, DRAM_BYTES_S, FP32_FLOP_CYCLE_SM = 132, 1.755e9, 3.2e9, 4.8e12, 128
GRID, BLOCK = 1024, 256


class Kernel:
    """One launch: what it takes, and percentages of the peaks."""

    def __init__(self, launch):
        self.seconds = launch["duration_ns"] / 1e9
        is_product = "matmul" in launch["name"]
        told = launch.get("metrics", {})
        self.compute = told.get("sm__throughput.avg.pct_of_peak_sustained_elapsed", 70.0)
        self.memory = told.get("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 50.0)
        self.tensor = self.compute if is_product else 0.0
        self.dram = 22.0 if is_product else self.memory
        self.occupancy = 23.5 if is_product else 88.0
        self.l2_hit = 84.0 if is_product else 50.0
        self.registers = 168 if is_product else 20
        self.shared = 98304 if is_product else 1024
        self.is_product = is_product

    def bytes(self):
        return self.dram / 100 * DRAM_BYTES_S * self.seconds

    def instructions(self):
        return (0.35 if self.is_product else 0.08) * 4 * SMS * CLOCK_HZ * self.seconds

    def number(self, metric):
        name, _, rest = metric.partition(".")
        read = self.bytes() * (0.8 if self.is_product else 0.5)
        sectors = self.bytes() / 32
        numbers = {
            "sm__cycles_elapsed": CLOCK_HZ, "smsp__cycles_elapsed": CLOCK_HZ, "lts__cycles_elapsed": CLOCK_HZ, "l1tex__cycles_elapsed": CLOCK_HZ,
            "dram__cycles_elapsed": DRAM_HZ, "gpc__cycles_elapsed": CLOCK_HZ * self.seconds, "sm__cycles_active": 0.97 * CLOCK_HZ * self.seconds,
            "gpu__dram_throughput": self.dram, "dram__throughput": self.dram,
            "sm__pipe_tensor_cycles_active": self.tensor, "sm__inst_executed_pipe_tensor": self.tensor / 4,
            "sm__inst_executed_pipe_fp32": 3.0, "sm__inst_issued": 35.0 if self.is_product else 8.0,
            "l1tex__throughput": 38.0 if self.is_product else 45.0, "lts__throughput": 36.0 if self.is_product else 60.0,
            "l1tex__t_sector_hit_rate": 12.0 if self.is_product else 0.0, "lts__t_sector_hit_rate": self.l2_hit,
            "dram__bytes_read": read, "dram__bytes_write": self.bytes() - read,
            "dram__bytes": {"sum.per_second": self.bytes() / self.seconds, "sum.peak_sustained": DRAM_BYTES_S / DRAM_HZ}.get(rest, self.bytes()),
            "lts__t_bytes": 3904.0 if rest.endswith("peak_sustained") else self.bytes() * 3, "lts__t_sectors": 3 * sectors,
            "l1tex__t_bytes": 128.0 * SMS if rest.endswith("peak_sustained") else self.bytes() * 4, "l1tex__t_sectors": 4 * sectors,
            "sm__warps_active": self.occupancy, "sm__maximum_warps_per_active_cycle_pct": 25.0 if self.is_product else 100.0,
            "launch__occupancy_limit_blocks": 32, "launch__occupancy_limit_registers": 65536 // (self.registers * BLOCK),
            "launch__occupancy_limit_shared_mem": 233472 // self.shared, "launch__occupancy_limit_warps": 8,
            "launch__registers_per_thread": self.registers, "launch__shared_mem_per_block_allocated": self.shared,
            "launch__waves_per_multiprocessor": GRID / SMS / (1 if self.is_product else 8), "launch__grid_size": GRID, "launch__block_size": BLOCK,
            "launch__thread_count": GRID * BLOCK,
            "sm__inst_executed": self.instructions(),
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld": 100.0, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st": 100.0,
            "smsp__sass_average_branch_targets_threads_uniform": 100.0, "smsp__thread_inst_executed_per_inst_executed": 31.8,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld": 4.0,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st": 4.0,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld": self.instructions() / 5, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st": self.instructions() / 20,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared": self.instructions() / 4,
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld": read / 128, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": read / 32,
            "l1tex__t_requests_pipe_lsu_mem_global_op_st": (self.bytes() - read) / 128,
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st": (self.bytes() - read) / 32,
            "smsp__average_warp_latency_per_inst_issued": 12.0 if self.is_product else 58.0,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active": 1.6 if self.is_product else 41.0,
            "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active": 4.1 if self.is_product else 0.1,
            "smsp__average_warps_issue_stalled_wait_per_issue_active": 2.2,
            "sm__ops_path_tensor_src_fp16_dst_fp32": self.tensor / 100 * 989e12 * self.seconds, "sm__ops_path_tensor_src_bf16_dst_fp32": 0.0,
            "sm__sass_thread_inst_executed_op_ffma_pred_on": float(FP32_FLOP_CYCLE_SM * SMS),
        }
        if name in numbers:
            return numbers[name]
        # What such kernels do not do: spill, conflict, stall for other reasons, count on fp64.
        return 0.0 if name.startswith(("smsp__", "l1tex__", "launch__")) else 12.5


def number_of(launch, metric):
    if metric in launch.get("metrics", {}):
        return launch["metrics"][metric]
    if metric == "gpu__time_duration.sum":
        return launch["duration_ns"]
    return Kernel(launch).number(metric)
