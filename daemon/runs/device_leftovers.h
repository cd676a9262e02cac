// Which devices may still be used by what a run left and nobody could end: the next run there is told, once. What is
// known here is in the catalog, too (leftover_table.h), and stays over a restart, but not over a reboot: a note is
// stored with the end of the run that left them, and goes with the state in which the next one is told, so that no
// crash and no failed commit comes between the two. Storing is the owner's.
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/catalog/leftover_table.h"
#include "storage/catalog/run_row.h"

namespace kprof {

class DeviceLeftovers {
 public:
  // `stored`: what a restart found; what is of another boot is over.
  DeviceLeftovers(std::string boot_id, std::vector<LeftoverRow> stored);

  // Processes of a run that has ended may live on.
  void Note(const RunRow& ended);
  // What of it has not been told: to be stored with its end.
  std::vector<LeftoverRow> LeftBy(const RunRow& ended) const;

  // Adds to the trust of a run that is about to start on its devices. What it says stays true until Told.
  void Tell(RunRow& row) const;
  // That run's trust is stored, and with it ForgetLeftovers of its devices.
  void Told(const RunRow& row);
  // It could not be stored, and the run has ended without having been on its devices: the next one is told in its
  // place.
  static void TakeBack(RunRow& row);

 private:
  const std::string boot_id_;
  std::map<std::string, std::string> left_by_;  // by device: the run
};

}  // namespace kprof
