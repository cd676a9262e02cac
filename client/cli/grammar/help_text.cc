#include "client/cli/grammar/help_text.h"

#include <utility>

namespace kprof::cli {

void HelpText::SetUsage(const CLI::App& verb, std::string usage) {
  usages_[&verb] = std::move(usage);
}

std::string HelpText::make_usage(const CLI::App* verb, std::string name) const {
  auto own = usages_.find(verb);
  return own == usages_.end() ? CLI::Formatter::make_usage(verb, std::move(name)) : "Usage: " + own->second + "\n";
}

}  // namespace kprof::cli
