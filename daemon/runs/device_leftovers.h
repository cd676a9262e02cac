// Which devices may still be used by what a run left and nobody could end: the next run there is told, once. Forgotten
// by a restart. One thread.
#pragma once

#include <map>
#include <string>

#include "storage/catalog/run_row.h"

namespace kprof {

class DeviceLeftovers {
 public:
  // Looks at the trust of a run that has ended.
  void Note(const RunRow& ended);
  // Adds to the trust of a run that is about to start on its devices.
  void Tell(RunRow& row);

 private:
  std::map<std::string, std::string> left_by_;  // by device: the run
};

}  // namespace kprof
