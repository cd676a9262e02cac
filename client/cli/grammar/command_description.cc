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

}  // namespace kprof::cli
