#include "daemon/devices/peaks/peaks_in_use.h"

#include <atomic>
#include <utility>

namespace kprof {
namespace {

std::atomic<const PeakTable*> installed{nullptr};
std::atomic<bool> is_asked{false};

}  // namespace

void InstallPeaks(PeakTable table) {
  KPROF_CHECK(!is_asked.load());
  static const PeakTable kept = std::move(table);
  KPROF_CHECK(installed.exchange(&kept) == nullptr);
}

Result<const PeakTable*> PeaksInUse() {
  is_asked.store(true);
  if (const PeakTable* const table = installed.load()) return table;
  static const Result<PeakTable> built_in = LoadBuiltInPeaks();
  if (!built_in.ok()) return built_in.status();
  return &*built_in;
}

}  // namespace kprof
