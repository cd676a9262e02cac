// kprofd's command line.
#pragma once

#include <optional>
#include <string>

#include "daemon/config/config.h"

namespace kprof {

struct Flags {
  bool check_config = false;
  std::optional<std::string> restore;  // a backup's path
  bool release_clocks = false;
  ConfigFlags config;
};

// Nothing when the program is to exit at once with *exit_status: --help and --version (0), or what does not parse or
// is not part of this version (2, after a line on standard error).
std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status);

}  // namespace kprof
