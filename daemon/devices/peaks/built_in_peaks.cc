#include "daemon/devices/peaks/built_in_peaks.h"

#include <string>

namespace kprof {

std::string BuiltInPeaksText();  // made of peaks.csv by embed_text.cmake

Result<PeakTable> LoadBuiltInPeaks() {
  return PeakTable::Parse(BuiltInPeaksText(), "the built-in peaks.csv");
}

}  // namespace kprof
