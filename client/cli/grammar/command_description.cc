#include "client/cli/grammar/command_description.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace kprof::cli {

CommandDescription DescribeApp(const CLI::App& app) {
  CommandDescription description;
  description.name = app.get_name();
  description.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    OptionDescription entry;
    for (const std::string& name : option->get_snames()) entry.spellings.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) entry.spellings.push_back("--" + name);
    entry.takes_value = option->get_items_expected_max() > 0;
    entry.help = option->get_description();
    description.options.push_back(std::move(entry));
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) description.commands.push_back(DescribeApp(*command));
  return description;
}

OptionSpellings SpellingsOf(const CommandDescription& program) {
  OptionSpellings spellings;
  for (const OptionDescription& option : program.options) {
    auto& of_its_kind = option.takes_value ? spellings.valued : spellings.flags;
    of_its_kind.insert(option.spellings.begin(), option.spellings.end());
  }
  for (const CommandDescription& verb : program.commands) {
    OptionSpellings below = SpellingsOf(verb);
    spellings.flags.merge(below.flags);
    spellings.valued.merge(below.valued);
  }
  return spellings;
}

std::vector<std::string> WithEmptyValuesApart(const std::vector<std::string>& words, const OptionSpellings& options) {
  std::vector<std::string> apart;
  bool options_end = false;
  for (const std::string& word : words) {
    options_end = options_end || word == "--";
    const std::string name = word.substr(0, word.find('='));
    if (!options_end && word.size() == name.size() + 1 && options.valued.contains(name)) {
      apart.insert(apart.end(), {name, ""});
    } else {
      apart.push_back(word);
    }
  }
  return apart;
}

std::optional<size_t> FindPositional(const std::vector<std::string>& words, const OptionSpellings& options, size_t n) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (options.valued.contains(words[i])) {
      ++i;  // its value
    } else if (words[i].starts_with('-') && !options.valued.contains(name) && !options.flags.contains(name)) {
      return std::nullopt;
    } else if (!words[i].starts_with('-') && n-- == 0) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::string> TakeUnknownWords(std::vector<std::string>& words, size_t first,
                                          const OptionSpellings& options) {
  std::vector<std::string> known(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<std::string> unknown;
  for (size_t i = first; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const bool is_valued = options.valued.contains(name);
    if (!is_valued && !options.flags.contains(name)) {
      unknown.push_back(words[i]);
      continue;
    }
    known.push_back(words[i]);
    if (is_valued && name.size() == words[i].size() && i + 1 < words.size()) known.push_back(words[++i]);
  }
  words = std::move(known);
  return unknown;
}

}  // namespace kprof::cli
