#include "storage/catalog/trace_part_row.h"

namespace kprof {

TraceTotals TotalsOf(const std::vector<TracePartRow>& parts) {
  TraceTotals totals;
  for (const TracePartRow& part : parts) {
    totals.slices += part.slices;
    totals.instants += part.instants;
    totals.counters += part.counters;
    totals.flows += part.flows;
    totals.tracks += part.tracks;
    totals.bytes += part.bytes;
    totals.source_bytes += part.source_bytes;
  }
  return totals;
}

}  // namespace kprof
