// The peaks of one NeuronCore that a device profile ran on, each with who says so: the profile's own metadata, else the
// table of peaks in use, by the instance's type; for the tensor engine of a NeuronCore-v2 what the
// profiler itself takes. Nothing where none knows. Costs a reading of the table where the metadata lacks one.
#pragma once

#include <optional>
#include <string>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "storage/base/status.h"

namespace kprof {

struct CorePeak {
  double value = 0;
  std::string source;  // "metadata", or the table's words
  bool is_of_profile = false;
};

struct CorePeaks {
  std::optional<CorePeak> tensor_flops;  // a second, BF16
  std::optional<CorePeak> hbm_bytes;     // a second
  std::optional<CorePeak> dma_bytes;     // a second

  static Result<CorePeaks> Find(const DeviceProfile& profile);
  // "tensor 91.75 TFLOP/s (metadata), ...": for notes. Says what is not known, too.
  std::string Text() const;
};

}  // namespace kprof
