// What can be typed: a program's options and verbs, read from CLI11's description of its command line, so that what is
// written from it (completion.h) needs no knowledge of CLI11 and cannot differ from what is parsed. Values.
#pragma once

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

}  // namespace kprof::cli
