#include "daemon/flags.h"

#include <CLI/CLI.hpp>

#include "daemon/daemon.h"

namespace kprof {

std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status) {
  Flags flags;
  CLI::App app("kprofd: the one owner of measurement on a node", "kprofd");
  app.set_version_flag("--version", std::string("kprofd ") + DaemonVersion());
  app.add_flag("--user", flags.user, "run as yourself, with state and socket of your own");
  app.add_option("--config", flags.config.file, "read settings from this file")->type_name("FILE");
  app.add_flag("--check-config", flags.check_config, "say what is wrong with the settings, and exit");
  app.add_option("--restore", flags.restore, "put this backup in the catalog's place, and exit")->type_name("FILE");
  app.add_option("--state-dir", flags.config.state_folder, "keep everything here")->type_name("DIR");
  app.add_option("--socket", flags.config.socket_path, "listen at this path")->type_name("PATH");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    *exit_status = asked ? app.exit(error) : 2;
    if (!asked) std::cerr << "kprofd: read the command line: " << error.what() << "; see kprofd --help\n";
    return std::nullopt;
  }
  return flags;
}

}  // namespace kprof
