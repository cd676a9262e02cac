#include "daemon/devices/peaks/measured_peaks.h"

#include <optional>
#include <utility>

#include "daemon/devices/peaks/peak_checks.h"
#include "storage/base/utc_text.h"

namespace kprof {
namespace {

void AddNote(const std::string& more, std::string& note) {
  note += (note.empty() ? "" : "; ") + more;
}

}  // namespace

Result<DevicePeaks> WithMeasuredCeiling(DevicePeaks device, const MeasuredCeiling& ceiling) {
  auto refuse = [&](const std::string& why, std::string remedy) {
    return Fail(ErrorCode::kBadInput, "take the ceiling that run " + ceiling.run_id + " measured on " + device.device,
                why, std::move(remedy));
  };
  if (ceiling.quantity != kMemoryBandwidth && ceiling.quantity != kDenseRate) {
    return refuse("'" + ceiling.quantity + "' is nothing that is measured", "measure memory_bandwidth or dense_rate");
  }
  Peak peak{.quantity = ceiling.quantity,
            .dtype = ceiling.dtype,
            .accumulate = ceiling.accumulate,
            .value = ceiling.value,
            .unit = ceiling.unit,
            .confidence = ceiling.doubts.empty() ? PeakConfidence::kHigh : PeakConfidence::kMedium,
            .source = "run " + ceiling.run_id + " at " + UtcText(ceiling.unix_ns / 1'000'000'000),
            .origin = PeakOrigin::kMeasured};
  if (std::optional<PeakComplaint> complaint = CheckPeak(peak)) return refuse(complaint->why, complaint->remedy);
  const Peak* known = device.Find(peak.quantity, peak.dtype, peak.accumulate);
  if (known == nullptr) {
    AddNote("there is no peak to hold it against", peak.note);
  } else if (peak.value > kMostOfPeak * known->value) {
    return refuse(
        PeakNumberText(peak.value) + " " + peak.unit + " is more than " + PeakNumberText(kMostOfPeak) +
            " times the peak of " + PeakNumberText(known->value) + " (" + std::string(PeakOriginName(known->origin)) +
            ": " + known->source + ")",
        "measure again and look at what was counted; if the peak is wrong, correct it in the file of [devices] "
        "peaks");
  }
  if (!ceiling.clocks.empty()) AddNote("with --clocks " + ceiling.clocks, peak.note);
  if (!ceiling.doubts.empty()) AddNote("what speaks against its run: " + ceiling.doubts, peak.note);
  device.peaks.push_back(std::move(peak));
  return device;
}

}  // namespace kprof
