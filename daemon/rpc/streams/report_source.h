// AnalysisService.GetReport: the report of a run (daemon/analysis/report), worked out whole, then sent file by file.
//
// For the pool of queries; any thread may make one.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof {

// Next fails as the look-up of the runs does (object_lookup.h), with kNotFound for a file that the report does not
// have, as the question's turn does (trace_question.h), and as MakeReport does.
std::unique_ptr<PullSource<v1::GetReportResponse>> MakeReportSource(const ServiceContext& context, const Caller& caller,
                                                                    const v1::GetReportRequest& request);

}  // namespace kprof
