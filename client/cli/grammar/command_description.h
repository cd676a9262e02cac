// A program's options and verbs, read from CLI11's description of its command line. Completion scripts
// (verb_completion.h) are written from it, so they need no knowledge of CLI11 and cannot differ from the parser. Also
// tells options, their values and other words apart before a command line is parsed. Values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kprof::cli {

struct OptionDescription {
  std::vector<std::string> spellings;  // "-o", "--output"
  bool takes_value = false;
  std::string help;
};

struct CommandDescription {
  std::string name;
  std::string help;
  std::vector<OptionDescription> options;  // its own, positional arguments excepted
  std::vector<CommandDescription> commands;
};

CommandDescription DescribeApp(const CLI::App& app);

// The spellings of options: they tell which words of a command line are options, and which are values of options. Knows
// no verbs.
struct OptionSpellings {
  std::set<std::string, std::less<>> flags;
  std::set<std::string, std::less<>> valued;  // those that take a value
};

// The spellings of the program and all its verbs. No spelling is a flag of one verb and takes a value with another.
OptionSpellings SpellingsOf(const CommandDescription& program);

// Splits `--device=` into two words, the second of them empty: the parser would take the next word for its value,
// whatever that is. Words after -- stay as they are.
std::vector<std::string> WithEmptyValuesApart(const std::vector<std::string>& words, const OptionSpellings& options);

// The place of the nth word (from 0) that is neither an option nor the value of one. Nothing: there are fewer, or an
// unknown option comes before it; the word after an unknown option may be its value or not.
// REQUIRES: none of the words is --.
std::optional<size_t> FindPositional(const std::vector<std::string>& words, const OptionSpellings& options, size_t n);

// Takes the words that are neither options nor values of options out of `words`, from `first` on. Returns them in their
// order.
std::vector<std::string> TakeUnknownWords(std::vector<std::string>& words, size_t first,
                                          const OptionSpellings& options);

}  // namespace kprof::cli
