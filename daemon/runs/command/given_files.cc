#include "daemon/runs/command/given_files.h"

#include <set>
#include <span>

#include "daemon/capture/tools.h"
#include "daemon/launch/given/json_text.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr int64_t kMostGivenBytes = 2 * static_cast<int64_t>(kMostJsonBytes);

std::set<std::string> NamesOfGivenFiles() {
  std::set<std::string> names = {JsonArtifactName(kParamsOption)};
  for (const Tool* tool : AllTools()) {
    for (const ToolOption& option : tool->options) {
      if (option.type == ToolOptionType::kJson) names.insert(JsonArtifactName(option.name));
    }
  }
  return names;
}

Result<std::string> ParamsText(const std::string& given, const Tool& tool,
                               const std::map<std::string, std::string>& labels) {
  ASSIGN_OR_RETURN(GivenJson params, ReadJson(given, "--params"));
  if (params.kind != GivenJson::Kind::kObject) return JsonOf(params);
  GivenJson all;
  all.kind = GivenJson::Kind::kObject;
  const auto add = [&](const std::string& name, const std::string& text) {
    if (params.Find(name) != nullptr) return;
    GivenJson value;
    value.kind = GivenJson::Kind::kText;
    value.text = text;
    all.names.push_back(name);
    all.items.push_back(std::move(value));
  };
  add("tool", std::string(tool.name));
  for (const char* name : {"kernel", "version"}) {
    if (const auto label = labels.find(name); label != labels.end()) add(name, label->second);
  }
  all.names.insert(all.names.end(), params.names.begin(), params.names.end());
  all.items.insert(all.items.end(), params.items.begin(), params.items.end());
  return JsonOf(all);
}

}  // namespace

Status WriteGivenFiles(Files& files, const Layout& layout, const std::string& run_id, const Tool& tool,
                       const std::vector<std::string>& options, const std::map<std::string, std::string>& labels) {
  for (const auto& [name, given] : JsonArtifacts(tool, options)) {
    std::string text = given;
    if (name == JsonArtifactName(kParamsOption)) {
      ASSIGN_OR_RETURN(text, ParamsText(given, tool, labels));
    }
    if (!text.ends_with('\n')) text += '\n';
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Create(layout.ArtifactPath(run_id, name)));
    RETURN_IF_ERROR(file->Append(text));
    RETURN_IF_ERROR(file->Sync());
  }
  return OkStatus();
}

Result<std::vector<ArtifactRow>> FindGivenFiles(Files& files, const Layout& layout, const std::string& run_id) {
  std::vector<ArtifactRow> found;
  for (const std::string& name : NamesOfGivenFiles()) {
    Result<std::string> text = ReadWholeFile(files, layout.ArtifactPath(run_id, name), kMostGivenBytes);
    if (!text.ok() && (text.status().code() == ErrorCode::kNotFound || text.status().code() == ErrorCode::kUsage)) {
      continue;
    }
    if (!text.ok()) return text.status();
    found.push_back({name, static_cast<int64_t>(text->size()), Sha256Of(*text)});
  }
  return found;
}

}  // namespace kprof
