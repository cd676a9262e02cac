// Devices that processes of an ended run may still use, as nobody could end them: noted with the end of that run, gone
// with the end of the next run that was there and was told. They outlive the row of the run, which may be deleted, but
// not the kernel under which the processes ran. Functions over a Db; those that change it are for a Writer job.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

struct LeftoverRow {
  std::string device;
  std::string run_id;   // which left them
  std::string boot_id;  // of the kernel that it ran under
  bool operator==(const LeftoverRow&) const = default;
};

// In the place of an earlier one of the same device.
Status NoteLeftover(Db& db, const LeftoverRow& leftover);

// One that is there no longer, or of another run by now, is fine.
Status ForgetLeftover(Db& db, const LeftoverRow& leftover);

// In the order of their devices' names.
Result<std::vector<LeftoverRow>> ReadLeftovers(Db& db);

}  // namespace kprof
