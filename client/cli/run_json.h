// A run as the object kprof.run.v1 of docs/cli.md.
#pragma once

#include "client/cli/json_writer.h"
#include "kprof/v1/run.pb.h"

namespace kprof::cli {

void WriteRun(JsonWriter& json, const v1::Run& run);

// The same on a line of its own.
std::string RunJsonLine(const v1::Run& run);

}  // namespace kprof::cli
