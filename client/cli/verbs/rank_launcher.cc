#include "client/cli/verbs/rank_launcher.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace kprof::cli {
namespace {

constexpr int kMostAncestors = 64;
constexpr size_t kMostProcBytes = size_t{4} << 20;
// An ancestor with all of these as the rank has them is the rank's, too: a shell around it, say.
constexpr const char* kRankVariables[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE"};

// Nothing where it cannot be read. An environment is not text: NULs are between its entries.
std::optional<std::string> ReadProcFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  char buffer[4096];
  while (file && bytes.size() < kMostProcBytes) {
    file.read(buffer, sizeof(buffer));
    bytes.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (bytes.empty()) return std::nullopt;
  return bytes;
}

using Environment = std::map<std::string, std::string, std::less<>>;

std::optional<Environment> EnvironmentOf(const std::string& folder) {
  const std::optional<std::string> bytes = ReadProcFile(folder + "/environ");
  if (!bytes) return std::nullopt;
  Environment environment;
  for (size_t begin = 0; begin < bytes->size();) {
    const size_t end = std::min(bytes->find('\0', begin), bytes->size());
    const std::string entry = bytes->substr(begin, end - begin);
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    begin = end + 1;
  }
  return environment;
}

std::optional<std::string> ValueIn(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

bool IsOfRank(const Environment& environment, const ReadVariable& read) {
  for (const char* name : kRankVariables) {
    if (ValueIn(environment, name) != read(name)) return false;
  }
  return true;
}

struct ProcStat {
  pid_t parent = 0;
  int64_t start_ticks = 0;  // since boot
};

// Fields 4 and 22 of proc(5); the name, field 2, may have spaces and brackets itself.
std::optional<ProcStat> StatOf(const std::string& folder) {
  const std::optional<std::string> text = ReadProcFile(folder + "/stat");
  const size_t bracket = text ? text->rfind(')') : std::string::npos;
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(bracket + 1));
  std::string word;
  ProcStat stat;
  for (int field = 3; fields >> word; ++field) {
    int64_t number = 0;
    if (field != 4 && field != 22) continue;
    if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc()) return std::nullopt;
    if (field == 4) stat.parent = static_cast<pid_t>(number);
    if (field == 22) {
      stat.start_ticks = number;
      return stat;
    }
  }
  return std::nullopt;
}

// Seconds since the epoch; 0: not known.
int64_t BootTime(const std::string& proc) {
  std::istringstream lines(ReadProcFile(proc + "/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    int64_t seconds = 0;
    if (!line.starts_with("btime ")) continue;
    std::from_chars(line.data() + 6, line.data() + line.size(), seconds);
    return seconds;
  }
  return 0;
}

std::string StartText(const std::string& proc, int64_t start_ticks) {
  const int64_t per_second = ::sysconf(_SC_CLK_TCK);
  const int64_t boot = BootTime(proc);
  if (boot <= 0 || per_second <= 0) return "";
  const std::time_t seconds = boot + start_ticks / per_second;
  std::tm when = {};
  ::gmtime_r(&seconds, &when);
  char text[64];
  const size_t length = std::strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &when);
  std::snprintf(text + length, sizeof(text) - length, ".%02d",
                static_cast<int>(start_ticks % per_second * 100 / per_second));
  return text;
}

}  // namespace

RankLauncher FindLauncher(const std::string& proc, pid_t parent, const ReadVariable& read) {
  RankLauncher launcher;
  for (int i = 0; i < kMostAncestors && parent > 0; ++i) {
    const std::string folder = proc + "/" + std::to_string(parent);
    const std::optional<ProcStat> stat = StatOf(folder);
    if (!stat) return launcher;
    const std::optional<Environment> environment = EnvironmentOf(folder);
    if (environment && IsOfRank(*environment, read) && stat->parent > 0) {
      parent = stat->parent;
      continue;
    }
    launcher.started = StartText(proc, stat->start_ticks);
    constexpr char kCores[] = "NEURON_RT_VISIBLE_CORES";
    if (environment) launcher.gave_cores = read(kCores).has_value() && ValueIn(*environment, kCores) != read(kCores);
    return launcher;
  }
  return launcher;
}

}  // namespace kprof::cli
