// Files of runs as resources of the Model Context Protocol: kprof://RUN/artifacts/NAME, and the logs of the command,
// kprof://RUN/logs/stdout and kprof://RUN/logs/stderr. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/text/json_writer.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/status.h"

namespace kprof::cli {

inline constexpr size_t kMostResourceBytes = size_t{1} << 20;

// The words of the kprofctl that lists the runs whose artifacts are listed.
std::vector<std::string> WordsToListResources();
// Writes the answer of resources/list. `runs`: the object kprof.runs.v1.
void WriteMcpResources(JsonWriter& json, const GivenJson& runs);
// Writes the answer of resources/templates/list.
void WriteMcpTemplates(JsonWriter& json);

// The words of the kprofctl that prints the bytes of a resource. Fails with kUsage for a URI of another form.
Result<std::vector<std::string>> WordsToRead(std::string_view uri);
// Writes the answer of resources/read: text where the bytes are UTF-8, else base64.
void WriteMcpContents(JsonWriter& json, std::string_view uri, std::string_view bytes);

}  // namespace kprof::cli
