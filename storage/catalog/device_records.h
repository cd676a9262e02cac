// Records of devices that outlive the runs: leftovers, devices that processes of an ended run may still use, and
// ceilings, the rates that runs have measured. Functions over a Db; those that change it are for a Writer job.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// A device that processes of an ended run may still use, as nobody could end them. Noted with the end of that run, and
// gone with the end of the next run that used the device and was told. Outlives the row of the run, which may be
// deleted, but not the kernel under which the processes ran.
struct LeftoverRow {
  std::string device;
  std::string run_id;   // the run that left them
  std::string boot_id;  // of the kernel that it ran under
  bool operator==(const LeftoverRow&) const = default;
};

// Replaces an earlier one of the same device.
Status NoteLeftover(Db& db, const LeftoverRow& leftover);

// A row that is gone, or is of another run by now, is fine.
Status ForgetLeftover(Db& db, const LeftoverRow& leftover);

// In the order of the devices' names.
Result<std::vector<LeftoverRow>> ReadLeftovers(Db& db);

// A measured ceiling of a device: the last record of its quantity. Outlives the run that measured it.
struct CeilingRow {
  std::string device;      // its uuid, or where it has none its id
  std::string quantity;    // these four as daemon/devices/peaks/device_peaks.h has them
  std::string dtype;       // empty: of no rate
  std::string accumulate;  // empty: the same
  std::string unit;
  double value = 0;
  std::string run_id;
  uint32_t uid = 0;              // who recorded it
  int64_t time_ns = 0;           // when; Unix ns
  std::string clocks;            // of the run: by which policy they were held
  std::string doubts;            // the codes of its trust; empty: nothing spoke against it
  std::string device_name = {};  // as its driver calls its kind: "NVIDIA H200"; empty: nobody knew it
  bool operator==(const CeilingRow&) const = default;
};

// Replaces an earlier one of the same quantity.
Status PutCeiling(Db& db, const CeilingRow& ceiling);

// Removes all ceilings of the device; none is fine.
Status DropCeilings(Db& db, const std::string& device);

// In the order of devices and quantities.
Result<std::vector<CeilingRow>> ReadCeilings(Db& db);

// The ceilings of this node, and who the devices of some runs are: what an analysis of these runs needs to find theirs.
// A value.
struct KnownCeilings {
  std::vector<CeilingRow> rows;
  // By run: the key of each of its devices, in their order, as CeilingRow::device has it; empty: not known.
  std::map<std::string, std::vector<std::string>> devices_of_runs;
};

// `runs` may name one several times. A run that the catalog does not have, or that had no device, has no entry.
Result<KnownCeilings> ReadKnownCeilings(Db& db, std::span<const std::string> runs);

// Notes who the devices of a run are, by their keys, in the order of its devices; empty: not known.
Status PutDeviceKeys(Db& db, const std::string& run_id, std::span<const std::string> keys);

}  // namespace kprof
