#!/usr/bin/python3
"""make_sysfs.py FOLDER --driver VERSION: the tree that a Neuron driver has in sysfs, as plain files.

FOLDER/neuron_device stands for /sys/devices/virtual/neuron_device, FOLDER/module for /sys/module/neuron. Versions:

    2.24    by the driver's source
    2.26    of an inf2, as somebody listed it: no status, no hardware, no memory of the host
    2.28    with nodes of health; their names, but for those below, are made up
    2.30.2  with those of its release notes, and utilization_raw, whose form is made up
    2.31    with nothing where it was: where it went is not published
"""

import argparse
import os

DEVICE_MEMORY = ("collectives", "constants", "dma_rings", "driver_memory", "model_code", "model_shared_scratchpad",
                 "nonshared_scratchpad", "notifications", "runtime_memory", "tensors", "uncategorized")
HOST_MEMORY = ("application_memory", "constants", "dma_buffers", "dma_rings", "driver_memory", "notifications", "tensors",
               "uncategorized")
STATUS = ("success", "failure", "timeout", "exec_bad_input", "hw_error", "execute_completed_with_error",
          "execute_completed_with_num_error", "execute_failed_to_queue", "generic_error", "resource_error",
          "resource_nc_error", "invalid_error", "unsupported_neff_version", "oob_error", "hw_collectives_error",
          "hw_hbm_ue_error", "hw_nc_ue_error", "hw_dma_abort_error", "hw_repairable_hbm_ue_error",
          "execute_sw_nq_overflow", "execute_sw_semaphore_error", "execute_sw_event_error", "execute_sw_psum_collision",
          "execute_sw_sequencer_fatal")
OTHER = ("flop_count", "inference_count", "model_load_count", "nc_time_in_use", "reset_req_count", "reset_fail_count")
CHIPS = {
    "inf2": ("NDv3", "Inferentia2", "Inf2", "NCv2", 2),
    "trn1": ("NDv2", "Trainium1", "Trn1", "NCv2", 2),
    "trn2": ("NDv4", "Trainium2", "Trn2", "NCv3", 8),
}


def put(folder, path, value):
    name = os.path.join(folder, path)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w", encoding="utf-8") as file:
        file.write(f"{value}\n")


def put_counter(folder, path, total, peak=None):
    put(folder, f"{path}/total", total)
    put(folder, f"{path}/present", 0)
    if peak is not None:
        put(folder, f"{path}/peak", peak)


def put_core(folder, number, driver, arch_type, old_names):
    core = os.path.join(folder, f"neuron_core{number}")
    put(core, "info/architecture/arch_type", arch_type)
    for i, kind in enumerate(DEVICE_MEMORY):
        put_counter(core, f"stats/memory_usage/device_mem/{kind}", 100 * i, 1000 * i)
    put_counter(core, "stats/memory_usage/device_mem", sum(range(11)) * 100, 60000)
    put_counter(core, "stats/memory_usage/host_mem", 4096, 8192)
    live = driver >= (2, 30, 2)
    for name in OTHER:
        counts = live or name.startswith("reset")
        put_counter(core, f"stats/other_info/{name}", 7 + number if counts else 0)
    if driver == (2, 26):
        return
    for name in STATUS:
        if old_names:
            name = name.replace("execute_", "infer_").replace("exec_", "infer_")
        total = {"success": 500, "timeout": 2, "hw_error": 1}.get(name, 0) if live else 0
        put_counter(core, f"stats/status/{name}", total)


def put_device(folder, index, options):
    driver = options.driver
    arch_type, device_name, instance, core_arch, cores = CHIPS[options.chip]
    device = os.path.join(folder, f"neuron{index}")
    put(device, "reset", "")
    put(device, "dev", f"246:{index}")
    put(device, "info/notify_delay", -1)
    if driver >= (2, 31):
        return
    put(device, "core_count", cores)
    put(device, "connected_devices", ", ".join(str(other) for other in range(options.devices) if abs(other - index) == 1))
    put(device, "info/serial_number", f"{0xa1b2c3d4e5f60000 + index:016x}")
    put(device, "info/architecture/arch_type", arch_type)
    put(device, "info/architecture/device_name", device_name)
    put(device, "info/architecture/instance_type", instance)
    put(device, "stats/power/utilization", options.power)
    if driver != (2, 26):
        for i, kind in enumerate(HOST_MEMORY):
            put_counter(device, f"stats/memory_usage/host_mem/{kind}", 10 * i, 20 * i)
        for name, count in (("mem_ecc_uncorrected", 1), ("mem_ecc_repairable_uncorrected", 2), ("sram_ecc_uncorrected", 3)):
            put(device, f"stats/hardware/{name}", count)
    if driver >= (2, 28):
        put(device, "stats/hardware/health_status/hbm_ecc_count", 4)
        put_counter(device, "stats/hardware/health_status/hw_error", 5)
    if driver >= (2, 30, 2):
        put(device, "stats/hardware/health_status/unhealthy_components", "hbm,link_host" if index == 0 else "")
        put(device, "stats/hardware/health_status/healthcheck_heartbeat", 1787754540)
        put(device, "stats/hardware/sram_ecc_corrected", 6)
        put(device, "stats/hardware/health_status/mem_ecc_corrected", 7)
        put(device, "stats/power/utilization_raw", "12.5,13.0")
    for number in range(cores):
        put_core(device, number, driver, core_arch, options.old_names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--driver", required=True, type=lambda text: tuple(map(int, text.split("."))))
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--chip", choices=CHIPS, default="inf2")
    parser.add_argument("--old-names", action="store_true", help="status nodes as infer_*")
    parser.add_argument("--power", default="POWER_STATUS_VALID,1787754540,0.32,3.04,1.57")
    options = parser.parse_args()
    put(options.folder, "module/version", ".".join(map(str, options.driver)))
    for index in range(options.devices):
        put_device(os.path.join(options.folder, "neuron_device"), index, options)


main()
