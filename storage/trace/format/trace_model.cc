#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

using enum EventColumn;

constexpr EventColumn kSliceColumns[] = {kTime, kDuration, kTrack, kName, kCategory, kShape, kCorrelation};
constexpr EventColumn kInstantColumns[] = {kTime, kTrack, kName, kCategory, kShape};
constexpr EventColumn kCounterColumns[] = {kTime, kTrack, kShape, kValue};
constexpr EventColumn kFlowColumns[] = {kTime, kTrack, kName, kCategory, kShape, kFlowId, kPhase};
constexpr EventColumn kMetadataColumns[] = {kTime, kTrack, kName, kCategory, kShape, kPhase};
constexpr EventColumn kSummaryColumns[] = {kTime, kDuration, kTrack, kName, kDepth, kCount, kBusy, kLevel};
constexpr EventColumn kTotalColumns[] = {kTime, kTrack, kName, kCategory, kSlice, kCount, kBusy, kEnded, kLeast, kMost};
constexpr EventColumn kCounterSummaryColumns[] = {kTime,  kDuration, kTrack, kValue, kCount,
                                                  kLevel, kLeast,    kMost,  kMean};
constexpr EventColumn kInstantSummaryColumns[] = {kTime, kDuration, kTrack, kName, kCount, kLevel};

}  // namespace

std::span<const EventColumn> ColumnsOf(EventKind kind) {
  switch (kind) {
    case EventKind::kSlice:
      return kSliceColumns;
    case EventKind::kInstant:
      return kInstantColumns;
    case EventKind::kCounter:
      return kCounterColumns;
    case EventKind::kFlow:
      return kFlowColumns;
    case EventKind::kMetadata:
      return kMetadataColumns;
    case EventKind::kSummary:
      return kSummaryColumns;
    case EventKind::kTotal:
      return kTotalColumns;
    case EventKind::kCounterSummary:
      return kCounterSummaryColumns;
    case EventKind::kInstantSummary:
      return kInstantSummaryColumns;
  }
  return {};
}

}  // namespace kprof
