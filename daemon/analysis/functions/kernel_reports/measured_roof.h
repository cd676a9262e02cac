// The roof that runs have reached on a kernel's device, beside the one of its peaks (KernelRoof): the ceilings that
// users recorded on this node (docs/peaks.md). Never takes a peak's place.
//
// A run that was captured here knows its device by its key, and has the ceilings of that device alone. A report from
// elsewhere knows the name of its device: it has those of the one device of that name that has any. Two of them have
// none, and a warning says so.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/kernel_work.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "storage/catalog/device_records.h"

namespace kprof {

class MeasuredRoof {
 public:
  static MeasuredRoof Of(const KnownCeilings& known, const KernelReports& reports, const ReportKernel& kernel,
                         const KernelRoof& roof);

  // Confidence is lower where the run that reached it is not to be trusted, and where the device may be another one;
  // the source says so.
  std::optional<Ceiling> RateOf(const WorkKind& kind) const;
  std::optional<Ceiling> Bandwidth() const;
  // Why there is none though some are recorded; empty: nothing is to be said.
  const std::string& warning() const { return warning_; }

 private:
  std::optional<Ceiling> Find(std::string_view quantity, std::string_view dtype, std::string_view accumulate) const;

  DevicePeaks ceilings_;    // beside the peaks that they are held against
  std::string by_name_of_;  // the device's name, where that is all that is known of it
  std::string warning_;
};

// Both of a row: the lower confidence, and who says so.
struct MeasuredBoth {
  std::optional<Ceiling> rate;
  std::optional<Ceiling> bandwidth;

  std::string confidence() const;  // empty: there is none
  std::string source() const;
};

}  // namespace kprof
