#include "daemon/ingest/text/personal_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kprof {
namespace {

// In lower case, without what stands between words.
constexpr std::array<std::string_view, 35> kNames = {
    // Who.
    "user", "username", "userid", "uid", "login", "loginname", "owner", "startedby", "launchedby", "account", "email",
    // Where.
    "host", "hostname", "hostnames", "nodename", "machine", "machinename", "cwd", "home", "homedir", "homedirectory",
    "workdir", "workingdir", "workingdirectory", "ipaddress",
    // What.
    "argv", "args", "arguments", "cmd", "cmdline", "command", "commandline", "commandlinearguments", "launchcommand",
    "programarguments"};
constexpr size_t kLongestPersonalName = 64;

}  // namespace

bool IsPersonalName(std::string_view name) {
  if (name.size() > kLongestPersonalName) return false;
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kNames.begin(), kNames.end(), letters) != kNames.end();
}

}  // namespace kprof
