#include "client/cli/verbs/analysis_request.h"

#include <algorithm>

#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

Status BadAnalysis(std::string why, std::string remedy) {
  return Fail(ErrorCode::kUsage, "analyze", std::move(why), std::move(remedy));
}

std::string OptionNames(const v1::AnalysisKind& kind) {
  std::string names;
  for (const v1::AnalysisOption& option : kind.options()) names += (names.empty() ? "--" : ", --") + option.name();
  return names.empty() ? kind.name() + " has none" : kind.name() + " has " + names;
}

// "--name", with dashes.
std::string NameOfOption(const std::string& word) {
  std::string name = word.substr(2, word.find('=') - 2);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

Result<const v1::AnalysisKind*> FindKind(const v1::ListAnalysesResponse& list, const std::string& name) {
  std::string names;
  for (const v1::AnalysisKind& kind : list.kinds()) {
    if (kind.name() == name) return &kind;
    names += (names.empty() ? "" : ", ") + kind.name();
  }
  return BadAnalysis("there is no analysis '" + ReadableText(name) + "'",
                     "there are " + names + "; kprofctl analyze --list tells of them");
}

Result<v1::AnalyzeRequest> ReadAnalysis(const v1::ListAnalysesResponse& list, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) {
    return BadAnalysis("the kind of analysis must stand first", "write kprofctl analyze KIND RUN...");
  }
  ASSIGN_OR_RETURN(const v1::AnalysisKind* const kind, FindKind(list, words.front()));
  v1::AnalyzeRequest request;
  request.set_kind(kind->name());
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--") || word.size() == 2) {
      request.add_runs(word);
      continue;
    }
    const std::string name = NameOfOption(word);
    const auto option = std::find_if(kind->options().begin(), kind->options().end(),
                                     [&name](const v1::AnalysisOption& one) { return one.name() == name; });
    if (option == kind->options().end()) {
      return BadAnalysis("there is no option --" + ReadableText(name), OptionNames(*kind));
    }
    const size_t equals = word.find('=');
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (option->type() != v1::ANALYSIS_TYPE_BOOLEAN) {
      if (i + 1 == words.size()) return BadAnalysis("--" + name + " has no value", "write it after it");
      value = words[++i];
    }
    if (value.empty()) return BadAnalysis("--" + name + " is empty", "give it a value, or leave it out");
    if (!request.mutable_options()->insert({name, value}).second) {
      return BadAnalysis("--" + name + " is there twice", "give it once");
    }
  }
  if (request.runs().empty()) {
    return BadAnalysis("there is no run", "write kprofctl analyze " + kind->name() + " RUN..., @last for the last one");
  }
  return request;
}

}  // namespace kprof::cli
