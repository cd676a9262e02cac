// What can be typed: a program's options and verbs, read from CLI11's description of its command line, so that what is
// written from it (verb_completion.h) needs no knowledge of CLI11 and cannot differ from what is parsed. Values.
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

// The words of a command line before they are parsed: which are options, which are their values. Knows what
// CommandDescription says of options, and nothing of verbs. Pure functions.
struct OptionSpellings {
  std::set<std::string, std::less<>> flags;
  std::set<std::string, std::less<>> valued;  // those that take a value
};

// Of the program and all its verbs. No spelling is a flag of one verb and takes a value with another.
OptionSpellings SpellingsOf(const CommandDescription& program);

// `--device=` as two words, the second of them empty: the parser would take the next word for its value, whatever that
// is. What stands after -- stays as it is.
std::vector<std::string> WithEmptyValuesApart(const std::vector<std::string>& words, const OptionSpellings& options);

// Where the nth word (from 0) is that is neither an option nor its value. Nothing where there are fewer, or where an
// option that is not known comes before: whether the word after it is its value cannot be told.
// REQUIRES: none of the words is --.
std::optional<size_t> FindPositional(const std::vector<std::string>& words, const OptionSpellings& options, size_t n);

// Takes out of `words`, from `first` on, those that are neither options nor values of these, in their order.
std::vector<std::string> TakeUnknownWords(std::vector<std::string>& words, size_t first,
                                          const OptionSpellings& options);

}  // namespace kprof::cli
