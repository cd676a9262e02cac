// Knows devices that processes of an ended run may still use, because nobody could end them: the next run there is
// told, once. A run that got its devices and never started was not there, so it does not count as told.
//
// The catalog has the same notes (device_records.h). They stay over a restart, but not over a reboot. A note is stored
// with the end of the run that left the processes, and goes with the end of the run that was told, so that no crash and
// no failed commit comes between. If kprofd dies while the told run lives, the next run is told as well. Storing is the
// owner's.
//
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
  // `stored`: the notes that a restart found; those of another boot are over.
  DeviceLeftovers(std::string boot_id, std::vector<LeftoverRow> stored);

  // Processes of this run, which has ended, may live on.
  void Note(const RunRow& ended);
  // The notes of this run that nobody was told yet: to be stored with its end.
  std::vector<LeftoverRow> LeftBy(const RunRow& ended) const;

  // Adds to the trust of a run that is about to start on its devices. Returns the notes that it was told.
  std::vector<LeftoverRow> Tell(RunRow& row) const;
  // A told run was on its devices, and has ended: these notes are over, to be forgotten with its end.
  void Told(const std::vector<LeftoverRow>& told);
  // A told run has ended without having been there: its trust does not say it, and the next run is told.
  static void TakeBack(RunRow& row);

 private:
  const std::string boot_id_;
  std::map<std::string, std::string> left_by_;  // device -> run
};

}  // namespace kprof
