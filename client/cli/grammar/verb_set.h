// What the grammars of the verbs (grammar_*.cc) are made of: how a verb is added to CLI11's description, and how a word
// is read. Each fails with kUsage in one line.
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

// CLI11's help, but for the usage lines of verbs whose words it would put in another order than one types them.
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

// The verbs of an app. What CLI11 writes words to is the grammars' own and lives as long as their FinishVerb.
class VerbSet {
 public:
  explicit VerbSet(CLI::App& app) : app_(app) {}
  VerbSet(const VerbSet&) = delete;
  VerbSet& operator=(const VerbSet&) = delete;

  CLI::App* Add(const char* name, const char* help, FinishVerb finish);
  // One that follows another: the `open` of `session`.
  CLI::App* AddBelow(CLI::App* verb, const std::string& name, const char* help, FinishVerb finish);
  // In place of the usage lines that CLI11 would make.
  void SetUsage(const CLI::App& verb, std::string usage) { help_->SetUsage(verb, std::move(usage)); }

  const std::vector<std::pair<CLI::App*, FinishVerb>>& all() const { return all_; }

 private:
  CLI::App& app_;
  const std::shared_ptr<HelpText> help_ = MakeHelp();  // CLI11 wants to share it
  std::vector<std::pair<CLI::App*, FinishVerb>> all_;

  std::shared_ptr<HelpText> MakeHelp();
};

// Between several usage lines.
constexpr char kNextUsage[] = "\n       ";
constexpr char kRunHelp[] = "An id, a unique prefix of one, @last, or @last~N: the Nth before it";

Status Usage(std::string why, std::string remedy);

// Text that travels as text must be UTF-8. `name`: of the option or the word.
Status CheckText(const char* name, const std::string& value);
Result<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& texts);
// Milliseconds; 0 for nothing.
Result<int64_t> ParseOptionalDuration(const char* option, const std::string& text);

// An option's value that is a whole number, in digits alone: CLI11 itself would read 010 as 8 and 0x2 as 2. Has no
// description, so --help does not go into detail; what is wrong is said in words where it is.
CLI::Validator WholeNumber(int64_t least, int64_t most);

// An option that may be given several times, one value each.
void AddRepeated(CLI::App* verb, const char* name, const char* value, std::vector<std::string>& to, const char* help);
void AddPriority(CLI::App* verb, int64_t& to);
// --limit of a list.
void AddLimit(CLI::App* verb, int64_t& to);

}  // namespace kprof::cli
