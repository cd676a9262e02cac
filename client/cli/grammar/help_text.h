// CLI11's help, but for the usage lines of verbs whose words it would put in another order than one types them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace kprof::cli {

class HelpText : public CLI::Formatter {
 public:
  // The usage lines of `verb`, without "Usage: " in front. Only its address is kept.
  void SetUsage(const CLI::App& verb, std::string usage);

  std::string make_usage(const CLI::App* verb, std::string name) const override;

 private:
  std::map<const CLI::App*, std::string> usages_;
};

}  // namespace kprof::cli
