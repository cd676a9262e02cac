// A run as the object kprof.run.v1 of docs/cli.md.
#pragma once

#include "client/cli/text/json_writer.h"
#include "client/cli/waiting/queue_place.h"
#include "kprof/v1/run.pb.h"

namespace kprof::cli {

// Without its place in the queue where that is null.
void WriteRun(JsonWriter& json, const v1::Run& run, const QueuePlace* place = nullptr);

// The same on a line of its own.
std::string RunJsonLine(const v1::Run& run, const QueuePlace* place = nullptr);

}  // namespace kprof::cli
