#include "client/cli/verbs/measured_subject.h"

#include <memory>

#include "client/cli/grammar/verb_set.h"
#include "client/cli/local_file.h"
#include "daemon/launch/given/json_text.h"

namespace kprof::cli {
namespace {

constexpr const char* kParams = "params";
constexpr size_t kMostLabelBytes = 1024;  // of run_request.h

Status AddParams(const CaptureArgs& args, const VerbContext& context, v1::RunSpec& spec) {
  std::string params = "{}";
  if (!args.params.empty()) {
    ASSIGN_OR_RETURN(params, ReadJsonWord(args.params, "--params"));
  }
  ASSIGN_OR_RETURN(const GivenJson json, ReadJson(params, "--params"));
  if (json.kind != GivenJson::Kind::kObject) {
    return Usage("--params is no object of JSON", "write it like --params '{\"b\": 32, \"dtype\": \"bfloat16\"}'");
  }
  v1::ToolOption& option = *spec.add_options();
  option.set_name(kParams);
  option.set_value(params);
  if (args.params.empty()) return OkStatus();
  if (args.labels.contains(kParams)) return Usage("--params and --label params= are both given", "give one of the two");
  const std::string label = JsonOf(json);
  if (label.size() > kMostLabelBytes) {
    context.output.Note("the parameters are too long for a label; params.json has them");
    return OkStatus();
  }
  (*spec.mutable_labels())[kParams] = label;
  return OkStatus();
}

}  // namespace

Result<std::string> ReadJsonWord(const std::string& word, const std::string& what) {
  std::string text = word;
  if (word.starts_with('@')) {
    if (word.size() == 1) return Usage(what + " '@' names no file", "write @FILE");
    ASSIGN_OR_RETURN(text, ReadAll(word.substr(1), kMostJsonBytes));
  }
  RETURN_IF_ERROR(ReadJson(text, what).status());
  return text;
}

Status AddMeasuredSubject(const CaptureArgs& args, const VerbContext& context, v1::RunSpec& spec) {
  if (!args.kernel.empty() || !args.version.empty() || !args.params.empty()) {
    RETURN_IF_ERROR(AddParams(args, context, spec));
  }
  if (args.baseline.empty()) return OkStatus();
  if (args.labels.contains("baseline")) {
    return Usage("--baseline and --label baseline= are both given", "give one of the two");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::GetRunResponse found, client->GetRun(args.baseline));
  (*spec.mutable_labels())["baseline"] = found.run().id();
  return OkStatus();
}

}  // namespace kprof::cli
