// The rows that HolisticTraceAnalysis takes for work of devices, with the times that it gives them, for answers that
// compare with its own (option window=hta). Its choices, as its results show them:
//
// - Rows are slices with an argument `stream`, in any category. A trace without any is not PyTorch's: then they are the
//   slices that DeviceScope takes.
// - Times are whole microseconds of the source's clock: begins are rounded up, ends down. So a row shorter than a
//   microsecond may end one before it begins; HTA adds up such lengths of -1, and so do the functions here.
// - A trace with two steps or more ends where the last one begins: rows count if their launch (by correlation) began
//   before that.
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: 64 bytes a row, and 8 for each
// correlation of the host when a step is left out. Costs a pass over the shapes of all slices, and over the rows taken.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/analysis/functions/device_scope.h"

namespace kprof {

struct HtaRow {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // may be 1,000 less
  int64_t name = 0;    // a string's number
  int64_t correlation = kNoValue;
  int64_t place = 0;    // of all slices of the part
  int64_t stream = -1;  // of its arguments
  uint32_t track = 0;
  KernelType type = KernelType::kCompute;
  bool is_operation = false;  // a kernel, a copy or a fill by its category: idle times are between these
};

// The whole microseconds of a part's source, and the end that HTA gives the trace. Pure.
struct HtaClock {
  int64_t base_ns = 0;
  std::optional<int64_t> cut_ns;  // the host's slices count that begin before; nothing: all do

  int64_t RoundedDown(int64_t time_ns) const;
  int64_t RoundedUp(int64_t time_ns) const;
};

class HtaRows {
 public:
  static Result<HtaRows> Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                              const StopSignal& stop);

  const std::vector<HtaRow>& rows() const { return rows_; }
  const HtaClock& clock() const { return clock_; }

 private:
  explicit HtaRows(const AnalysisTraces& traces) : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}

  std::unique_ptr<MemoryCharge> charge_;
  HtaClock clock_;
  std::vector<HtaRow> rows_;
};

// A percentage with as many digits behind the point as HTA gives.
AnalysisValue HtaPercent(int64_t part, int64_t whole, int digits);

}  // namespace kprof
