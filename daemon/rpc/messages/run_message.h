// Turns a run's row into its message, and a submitted spec into a request. Functions of their arguments. Any thread.
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

// Fills in `queue_position` and `estimated_wait_ms`, for each message that has them.
template <typename Message>
void FillOutlook(const LeaseQueue::Outlook& outlook, Message& out) {
  out.set_queue_position(outlook.position);
  if (outlook.position > 0 && outlook.wait_ns) out.set_estimated_wait_ms(*outlook.wait_ns / kNanosPerMilli);
}

// `out` is empty before. It gets the first 100 artifacts, and their number.
void FillRun(const RunRow& row, v1::Run& out);
// All but the command line and the environment, which never change and may be long.
void FillRunWithoutCommand(const RunRow& row, v1::Run& out);
// About how many bytes FillRun's message has: the sum of its long fields.
size_t RunMessageBytes(const RunRow& row);
void FillTool(const Tool& tool, v1::Tool& out);
void FillArtifact(const ArtifactRow& row, v1::Artifact& out);
void FillError(const RunError& error, v1::RunError& out);
void FillTrust(const std::vector<TrustReason>& trust, google::protobuf::RepeatedPtrField<v1::TrustReason>& out);
void FillMetrics(const std::vector<MetricRow>& metrics, google::protobuf::RepeatedPtrField<v1::Metric>& out);

v1::RunState ToWire(RunState state);
// REQUIRES: not unspecified and known.
RunState FromWire(v1::RunState state);

// Converts only; CheckRunRequest checks it.
RunRequest RequestOf(const Caller& caller, const v1::SubmitRunRequest& message);
// Converts only; CheckImportRequest checks it.
ImportRequest RequestOf(const Caller& caller, const v1::SubmitImportRequest& message);

}  // namespace kprof
