#include "daemon/capture/tool_settings.h"

#include <fcntl.h>
#include <unistd.h>

#include "daemon/launch/given/json_text.h"
#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

namespace kprof {

std::string JsonListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + JsonQuoted(ReadableText(text));
  return "[" + list + "]";
}

void WriteToolSettings(const PlanInput& input, const ToolSettings& settings) {
  std::string text = "{\"schema\":\"kprof.tool.v1\",\"tool\":" + JsonQuoted(input.request.tool) +
                     ",\"program\":" + JsonQuoted(ReadableText(input.program)) +
                     ",\"version\":" + (settings.version.empty() ? "null" : JsonQuoted(settings.version));
  for (const auto& [name, json] : settings.members) text += "," + JsonQuoted(name) + ":" + json;
  text += ",\"argv\":" + JsonListOf(settings.argv) + "}\n";
  const std::string path = std::string(input.folder) + "/" + std::string(kToolSettingsFile);
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.valid()) [[maybe_unused]]
    const ssize_t written = ::write(file.get(), text.data(), text.size());
}

}  // namespace kprof
