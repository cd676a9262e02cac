// A run's row as its message, and a submitted spec as a request. Functions of their arguments. Any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/capture/tool.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/queue/lease_queue.h"
#include "kprof/v1/run.pb.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/clock.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Where somebody stands who waits, as each message that says so has it: `queue_position` and `estimated_wait_ms`.
template <typename Message>
void FillOutlook(const LeaseQueue::Outlook& outlook, Message& out) {
  out.set_queue_position(outlook.position);
  if (outlook.position > 0 && outlook.wait_ns) out.set_estimated_wait_ms(*outlook.wait_ns / kNanosPerMilli);
}

// `out` is empty before. Of the artifacts the first 100, and how many there are.
void FillRun(const RunRow& row, v1::Run& out);
// All but its command line and environment, which never change and may be long.
void FillRunWithoutCommand(const RunRow& row, v1::Run& out);
// About how large FillRun makes its message: what is long in it.
size_t RunMessageBytes(const RunRow& row);
void FillTool(const Tool& tool, v1::Tool& out);
void FillArtifact(const ArtifactRow& row, v1::Artifact& out);
void FillError(const RunError& error, v1::RunError& out);
void FillTrust(const std::vector<TrustReason>& trust, google::protobuf::RepeatedPtrField<v1::TrustReason>& out);
void FillMetrics(const std::vector<MetricRow>& metrics, google::protobuf::RepeatedPtrField<v1::Metric>& out);

v1::RunState ToWire(RunState state);
// REQUIRES: not unspecified and known.
RunState FromWire(v1::RunState state);

// Converts only; CheckRunRequest judges.
RunRequest RequestOf(const Caller& caller, const v1::SubmitRunRequest& message);
// The same; CheckImportRequest.
ImportRequest RequestOf(const Caller& caller, const v1::SubmitImportRequest& message);

}  // namespace kprof
