// Which devices may still be used by what a run left and nobody could end: the next run there is told, once. One that
// has its devices and never starts was not there: it is not the one. What is known here is in the catalog, too
// (device_records.h), and stays over a restart, but not over a reboot: a note is stored with the end of the run that
// left them, and goes with the end of the one that was told, so that no crash and no failed commit comes between the
// two; one that kprofd dies under leaves the next to be told as well. Storing is the owner's.
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/catalog/device_records.h"
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

  // Adds to the trust of a run that is about to start on its devices. Returns what it was told of.
  std::vector<LeftoverRow> Tell(RunRow& row) const;
  // It was on its devices, and has ended: what it was told of is over, to be forgotten with its end.
  void Told(const std::vector<LeftoverRow>& told);
  // It has ended without having been there: the next one is told in its place.
  static void TakeBack(RunRow& row);

 private:
  const std::string boot_id_;
  std::map<std::string, std::string> left_by_;  // by device: the run
};

}  // namespace kprof
