#include "client/cli/grammar/verb_set.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/cli/text/amounts_and_times.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {

void HelpText::SetUsage(const CLI::App& verb, std::string usage) {
  usages_[&verb] = std::move(usage);
}

std::string HelpText::make_usage(const CLI::App* verb, std::string name) const {
  auto own = usages_.find(verb);
  return own == usages_.end() ? CLI::Formatter::make_usage(verb, std::move(name)) : "Usage: " + own->second + "\n";
}

std::shared_ptr<HelpText> VerbSet::MakeHelp() {
  auto help = std::make_shared<HelpText>();
  app_.formatter(help);
  return help;
}

CLI::App* VerbSet::Add(const char* name, const char* help, FinishVerb finish) {
  return AddBelow(&app_, name, help, std::move(finish));
}

CLI::App* VerbSet::AddBelow(CLI::App* verb, const std::string& name, const char* help, FinishVerb finish) {
  CLI::App* below = verb->add_subcommand(name, help)->group("Verbs");
  all_.emplace_back(below, std::move(finish));
  return below;
}

Status Usage(std::string why, std::string remedy) {
  std::replace(why.begin(), why.end(), '\n', ' ');
  return Fail(ErrorCode::kUsage, "read the command line", std::move(why), std::move(remedy));
}

Status CheckText(const char* name, const std::string& value) {
  if (IsUtf8(value)) return OkStatus();
  return Usage(std::string(name) + " '" + ReadableText(value) + "' is not UTF-8", "write it in UTF-8");
}

Result<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const std::string& text : texts) {
    RETURN_IF_ERROR(CheckText("--label", text));
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Usage("--label '" + text + "' is not KEY=VALUE", "write it like --label model=llama");
    }
    const std::string key = text.substr(0, equals);
    if (!labels.emplace(key, text.substr(equals + 1)).second) {
      return Usage("the label '" + key + "' is given twice", "give each key one value");
    }
  }
  return labels;
}

Result<FailOn> ParseFailOn(const std::string& text) {
  if (text == "slower") return FailOn::kSlower;
  if (text == "inconclusive") return FailOn::kInconclusive;
  return Usage("--fail-on '" + text + "' is none", "use slower, or inconclusive for both");
}

Result<int64_t> ParseOptionalDuration(const char* option, const std::string& text) {
  if (text.empty()) return 0;
  Result<int64_t> duration = ParseDurationMs(text);
  if (!duration.ok()) {
    return Usage(std::string(option) + " '" + text + "': " + duration.status().why(), duration.status().remedy());
  }
  return duration;
}

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  auto read = [least, most](std::string& text) -> std::string {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
      text = std::to_string(value);
      return "";
    }
    return "'" + text + "' is not a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return CLI::Validator(read, "");
}

void AddRepeated(CLI::App* verb, const char* name, const char* value, std::vector<std::string>& to, const char* help) {
  verb->add_option(name, to, help)->allow_extra_args(false)->type_name(value);
}

void AddPriority(CLI::App* verb, int64_t& to) {
  verb->add_option("--priority", to, "Go before those of a lower one; above 0 for operators only (default: 0)")
      ->transform(WholeNumber(0, 100))
      ->type_name("N");
}

void AddMarkdown(CLI::App* verb, std::string& to) {
  verb->add_option("--markdown", to, "Add a summary in Markdown to the end of this file: $GITHUB_STEP_SUMMARY")
      ->type_name("FILE");
}

void AddLimit(CLI::App* verb, int64_t& to) {
  verb->add_option("--limit", to, "At most this many (default: 20)")
      ->transform(WholeNumber(1, 1'000'000'000))
      ->type_name("N");
}

}  // namespace kprof::cli
