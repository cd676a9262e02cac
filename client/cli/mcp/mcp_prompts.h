// The prompts that kprofctl offers over the Model Context Protocol: how to make a kernel faster without being fooled by
// its times. Pure functions.
#pragma once

#include <string_view>

#include "client/cli/text/json_writer.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Said to every client that connects.
extern const std::string_view kMcpInstructions;

// Writes the answer of prompts/list.
void WriteMcpPrompts(JsonWriter& json);
// Writes the answer of prompts/get. Fails with kUsage for a prompt that there is not, and for arguments that are
// missing or unknown.
Status WriteMcpPrompt(JsonWriter& json, std::string_view name, const GivenJson& arguments);

}  // namespace kprof::cli
