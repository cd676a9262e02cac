// kprofd's command line.
#pragma once

#include <optional>

#include "daemon/config.h"

namespace kprof {

struct Flags {
  bool user = false;
  bool check_config = false;
  std::string restore;  // a backup's path; empty: serve
  bool release_clocks = false;
  ConfigFlags config;
};

// Nothing when the program is to exit at once with *exit_status: --help and --version (0), or what does not parse or
// is not part of this version (2, after a line on standard error).
std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status);

}  // namespace kprof
