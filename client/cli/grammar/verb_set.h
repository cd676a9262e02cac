// Helpers of the verbs' grammars (grammar_*.cc): they add a verb to CLI11's description and read its words. Failures
// are kUsage, in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

// CLI11's help, with usage lines of our own for some verbs: CLI11 would show their words in another order than they are
// typed.
class HelpText : public CLI::Formatter {
 public:
  // The usage lines of `verb`, without "Usage: " in front. Only its address is kept.
  void SetUsage(const CLI::App& verb, std::string usage);

  std::string make_usage(const CLI::App* verb, std::string name) const override;

 private:
  std::map<const CLI::App*, std::string> usages_;
};

// Turns the words of a verb, as they were typed, into what it asks for.
using FinishVerb = std::function<Result<VerbArgs>()>;

// The verbs of an app. CLI11 writes words into structs of the grammars, which live as long as their FinishVerb.
class VerbSet {
 public:
  explicit VerbSet(CLI::App& app) : app_(app) {}
  VerbSet(const VerbSet&) = delete;
  VerbSet& operator=(const VerbSet&) = delete;

  CLI::App* Add(const char* name, const char* help, FinishVerb finish);
  // Adds a verb that follows another: the `open` of `session`.
  CLI::App* AddBelow(CLI::App* verb, const std::string& name, const char* help, FinishVerb finish);
  // Replaces the usage lines that CLI11 would make.
  void SetUsage(const CLI::App& verb, std::string usage) { help_->SetUsage(verb, std::move(usage)); }

  const std::vector<std::pair<CLI::App*, FinishVerb>>& all() const { return all_; }

 private:
  CLI::App& app_;
  const std::shared_ptr<HelpText> help_ = MakeHelp();  // CLI11 wants to share it
  std::vector<std::pair<CLI::App*, FinishVerb>> all_;

  std::shared_ptr<HelpText> MakeHelp();
};

// Stands between two usage lines.
constexpr char kNextUsage[] = "\n       ";
constexpr char kRunHelp[] = "An id, a unique prefix of one, @last, or @last~N: the Nth before it";

Status Usage(std::string why, std::string remedy);

// Fails unless `value` is UTF-8, as all text in requests must be. `name` is that of the option or the word.
Status CheckText(const char* name, const std::string& value);
Result<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& texts);
// Milliseconds; 0 for nothing.
Result<int64_t> ParseOptionalDuration(const char* option, const std::string& text);
// The value of --fail-on. kUsage for any other word.
Result<FailOn> ParseFailOn(const std::string& text);

// Takes a whole number in digits alone for an option's value: CLI11 itself would read 010 as 8 and 0x2 as 2. Has no
// description, so that --help stays short; the error message names the limits.
CLI::Validator WholeNumber(int64_t least, int64_t most);

// Adds an option that may be given several times, one value each.
void AddRepeated(CLI::App* verb, const char* name, const char* value, std::vector<std::string>& to, const char* help);
void AddPriority(CLI::App* verb, int64_t& to);
// Adds the --markdown of a verb that tells of a run or a comparison.
void AddMarkdown(CLI::App* verb, std::string& to);
// Adds the --limit of a list.
void AddLimit(CLI::App* verb, int64_t& to);

}  // namespace kprof::cli
