#include "daemon/runs/imports/import_request.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "daemon/ingest/source/source_formats.h"
#include "daemon/runs/command/run_request.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr const char* kCheckImportAct = "submit import";

Status RefuseImport(std::string why, std::string remedy = {}) {
  return Fail(ErrorCode::kUsage, kCheckImportAct, std::move(why), std::move(remedy));
}

Status CheckSource(const ImportRequest::Source& source, const ImportRequestLimits& limits) {
  const std::string name = LastStep(source.name);
  if (name.empty()) return RefuseImport("a source has no name", "give it the name of its file");
  if (source.name.size() > limits.name_bytes) {
    return RefuseImport(
        "the name '" + ClippedText(name, 80) + "' has more than " + std::to_string(limits.name_bytes) + " bytes",
        "give it a shorter one");
  }
  if (source.name.find('\0') != std::string::npos)
    return RefuseImport("a source's name holds a zero byte", "leave it out");
  if (source.rank && (*source.rank < 0 || *source.rank > limits.rank)) {
    return RefuseImport("rank " + std::to_string(*source.rank) + " is not between 0 and " + std::to_string(limits.rank),
                        "ranks are counted from 0");
  }
  return OkStatus();
}

}  // namespace

Status CheckImportRequest(const ImportRequest& request, const ImportRequestLimits& limits) {
  if (request.sources.empty()) return RefuseImport("it has no source", "name a file");
  if (request.sources.size() > limits.sources) {
    return RefuseImport("it has " + std::to_string(request.sources.size()) + " sources, over the limit of " +
                            std::to_string(limits.sources),
                        "import them in several runs");
  }
  for (const ImportRequest::Source& source : request.sources) RETURN_IF_ERROR(CheckSource(source, limits));
  const std::vector<std::string_view> formats = SourceFormatNames();
  if (std::find(formats.begin(), formats.end(), request.format) == formats.end()) {
    std::string names;
    for (const std::string_view format : formats) names += (names.empty() ? "" : ", ") + std::string(format);
    return RefuseImport("'" + ClippedText(request.format, 80) + "' is no format that this version reads",
                        "give one of " + names);
  }
  if (request.idempotency_key.size() > limits.idempotency_key_bytes) {
    return RefuseImport("the idempotency key has more than " + std::to_string(limits.idempotency_key_bytes) + " bytes",
                        "give it a shorter one");
  }
  return CheckLabels(request.labels, kCheckImportAct);
}

std::string LastStep(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> CommandOf(const ImportRequest& request, const std::vector<ImportRequest::Source>& sources) {
  std::vector<std::string> words{kImportTool};
  if (request.format != "auto") words.insert(words.end(), {"--format", request.format});
  if (request.keep_sources) words.emplace_back("--keep-source");
  if (sources.size() == 1 && sources[0].rank) {
    words.insert(words.end(), {"--rank", std::to_string(*sources[0].rank)});
  }
  for (const ImportRequest::Source& source : sources) words.push_back(LastStep(source.name));
  return words;
}

}  // namespace kprof
