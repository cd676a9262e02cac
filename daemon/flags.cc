#include "daemon/flags.h"

#include <CLI/CLI.hpp>

#include "daemon/daemon.h"

namespace kprof {
namespace {

// What an unset variable of a shell leaves of "$STATE" is no wish for the default.
std::string NotEmpty(const std::string& value) {
  return value.empty() ? "is given, but empty" : "";
}

}  // namespace

std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status) {
  Flags flags;
  CLI::App app("kprofd: the one owner of measurement on a node", "kprofd");
  app.set_version_flag("--version", std::string("kprofd ") + DaemonVersion());
  app.add_flag("--user", flags.config.user, "run as yourself, with state and socket of your own");
  app.add_option("--config", flags.config.file, "read settings from this file")->check(NotEmpty)->type_name("FILE");
  app.add_flag("--check-config", flags.check_config, "say what is wrong with the settings, and exit");
  app.add_option("--restore", flags.restore, "put this backup in the catalog's place, and exit")
      ->check(NotEmpty)
      ->type_name("FILE");
  app.add_flag("--release-clocks", flags.release_clocks, "undo what a killed kprofd may have left locked, and exit");
  app.add_option("--state-dir", flags.config.state_folder, "keep everything here")->check(NotEmpty)->type_name("DIR");
  app.add_option("--socket", flags.config.socket_path, "listen at this path")->check(NotEmpty)->type_name("PATH");
  app.add_option("--http", flags.config.http, "serve /metrics and /healthz here: 127.0.0.1:7977, or off")
      ->check(NotEmpty)
      ->type_name("ADDRESS:PORT|off");
  app.add_option("--listen", flags.config.listen, "listen for clients on other nodes, over TLS")
      ->check(NotEmpty)
      ->type_name("ADDR:PORT|off");
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
