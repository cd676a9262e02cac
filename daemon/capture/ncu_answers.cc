#include "daemon/capture/ncu_answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <iterator>

#include "daemon/capture/vendor_program.h"
#include "storage/base/descriptors.h"
#include "storage/base/environment.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

// Hidden: they are no outputs of the run.
constexpr char kVersionFile[] = ".ncu-version";
constexpr char kMetricsFile[] = ".ncu-metrics";
constexpr int64_t kVersionLimitMs = 10'000;
constexpr int64_t kMetricsLimitMs = 40'000;  // some seconds for each kind of device
constexpr size_t kMostAnswerBytes = 16 << 20;
constexpr std::string_view kCacheMagic = "kprof ncu answers 1\n";

using MetricNames = std::set<std::string, std::less<>>;

std::string CacheFolder(const std::vector<std::string>& environment) {
  const char* cache = FindVariable(environment, "XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/kprof";
  const char* home = FindVariable(environment, "HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/kprof" : "";
}

// Empty: nothing is kept.
std::string CachePath(const PlanInput& input) {
  const std::string folder = CacheFolder(input.request.environment);
  char resolved[PATH_MAX];
  struct stat about {};
  if (folder.empty() || ::realpath(std::string(input.program).c_str(), resolved) == nullptr ||
      ::stat(resolved, &about) != 0) {
    return "";
  }
  const char* devices = FindVariable(input.request.environment, "CUDA_VISIBLE_DEVICES");
  Sha256 sum;
  for (const std::string& part :
       {std::string(resolved), std::to_string(about.st_size), std::to_string(about.st_mtim.tv_sec),
        std::to_string(about.st_mtim.tv_nsec), std::string(devices == nullptr ? "all" : devices)}) {
    sum.Add(part + "\n");
  }
  return folder + "/ncu-" + sum.Finish().substr(0, 32);
}

std::optional<NcuAnswers> ReadCache(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::string text = ReadToolFile(path, kMostAnswerBytes);
  if (!text.starts_with(kCacheMagic) || !text.ends_with("\n")) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(kCacheMagic.size());
  NcuAnswers answers;
  MetricNames names;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (answers.version.empty()) {
      answers.version = line;
    } else {
      names.emplace(line);
    }
    rest.remove_prefix(end + 1);
  }
  if (answers.version.empty() || names.empty()) return std::nullopt;
  answers.metrics = std::move(names);
  return answers;
}

// A cache that cannot be written costs the next run some seconds, and nobody else anything.
void WriteCache(const std::string& path, const NcuAnswers& answers) {
  if (path.empty() || answers.version.empty() || !answers.metrics) return;
  std::string text = std::string(kCacheMagic) + answers.version + "\n";
  for (const std::string& name : *answers.metrics) text += name + "\n";
  const std::string folder = path.substr(0, path.rfind('/'));
  ::mkdir(folder.substr(0, folder.rfind('/')).c_str(), S_IRWXU);
  ::mkdir(folder.c_str(), S_IRWXU);
  const std::string unfinished = path + "." + std::to_string(::getpid());
  UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = ::write(file.get(), text.data() + written, text.size() - written);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    written += static_cast<size_t>(size);
  }
  file.Reset();
  if (written < text.size() || ::rename(unfinished.c_str(), path.c_str()) != 0) ::unlink(unfinished.c_str());
}

std::string AnswerFile(const PlanInput& input, const char* name) {
  return std::string(input.folder) + "/" + name;
}

}  // namespace

std::string ReadToolFile(const std::string& path, size_t most_bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  std::string text;
  const auto read_at = [&](off_t at, size_t wanted) {
    const size_t before = text.size();
    text.resize(before + wanted);
    size_t got = 0;
    while (got < wanted) {
      const ssize_t size = ::pread(file.get(), text.data() + before + got, wanted - got, at + static_cast<off_t>(got));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      got += static_cast<size_t>(size);
    }
    text.resize(before + got);
  };
  const auto size_bytes = static_cast<size_t>(about.st_size);
  read_at(0, std::min(size_bytes, most_bytes));
  if (size_bytes > most_bytes) {
    const size_t begin = std::max(most_bytes, size_bytes - most_bytes);
    text += "\n";
    read_at(static_cast<off_t>(begin), size_bytes - begin);
  }
  return text;
}

// A section for each kind of device, which begins with "Device"; a metric a line, its name first.
std::optional<MetricNames> MetricNamesIn(std::string_view text) {
  std::vector<MetricNames> sections(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view name = line.substr(0, line.find_first_of(" \t\r,"));
    if (name == "Device") {
      sections.emplace_back();
    } else if (name.find("__") != std::string_view::npos && name.find_first_of("=\"'<>") == std::string_view::npos) {
      sections.back().emplace(name.substr(0, name.find('.')));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::erase_if(sections, [](const MetricNames& names) { return names.empty(); });
  if (sections.empty()) return std::nullopt;
  MetricNames all = std::move(sections[0]);
  for (size_t i = 1; i < sections.size(); ++i) {
    MetricNames both;
    std::set_intersection(all.begin(), all.end(), sections[i].begin(), sections[i].end(),
                          std::inserter(both, both.end()));
    all = std::move(both);
  }
  return all;
}

bool NcuAnswers::HasMetric(std::string_view metric) const {
  // Those are no counters: ncu knows them of the launch itself, and does not list them.
  for (const std::string_view prefix :
       {"launch__", "device__", "nvlink__", "numa__", "smsp__pcsamp", "sass__", "sm__maximum_warps_per_active_cycle"}) {
    if (metric.starts_with(prefix)) return true;
  }
  return !metrics || metrics->contains(metric.substr(0, metric.find('.')));
}

std::vector<ToolStep> AskNcu(const PlanInput& input) {
  if (ReadCache(CachePath(input))) return {};
  const std::string program(input.program);
  return {{.name = "ask ncu for its version",
           .argv = {program, "--version"},
           .stdout_file = kVersionFile,
           .limit_ms = kVersionLimitMs},
          {.name = "ask ncu for the metrics of the device",
           .argv = {program, "--query-metrics"},
           .stdout_file = kMetricsFile,
           .limit_ms = kMetricsLimitMs}};
}

NcuAnswers ReadNcuAnswers(const PlanInput& input) {
  const std::string cache = CachePath(input);
  if (std::optional<NcuAnswers> known = ReadCache(cache)) return *std::move(known);
  NcuAnswers answers;
  answers.version = VersionIn(ReadToolFile(AnswerFile(input, kVersionFile), 64 << 10));
  answers.metrics = MetricNamesIn(ReadToolFile(AnswerFile(input, kMetricsFile), kMostAnswerBytes));
  WriteCache(cache, answers);
  return answers;
}

}  // namespace kprof
