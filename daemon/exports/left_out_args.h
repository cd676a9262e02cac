// Which arguments of events no export has: those of an environment (environment_text.h), also the variables that an
// import keeps.
//
// One thread.
#pragma once

#include "daemon/exports/part_texts.h"
#include "daemon/exports/segment_rows.h"
#include "storage/base/status.h"

namespace kprof {

class EnvironmentArgs {
 public:
  // The part must outlive it.
  explicit EnvironmentArgs(PartReader& part);

  // False: no argument with that key is left out, whatever it is.
  Result<bool> MayBe(uint32_t key);
  Result<bool> Is(const SegmentRows::Arg& arg);
  // Between rows.
  void Trim();

 private:
  PartTexts keys_;      // a letter for what goes of those called so
  PartTexts settings_;  // empty where a text has none
};

}  // namespace kprof
