#include "daemon/capture/vendor_program.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>

#include "daemon/capture/tool.h"
#include "daemon/launch/launch_request.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kShownPathsBytes = 100;
constexpr size_t kMostFolders = 1000;  // that one pattern stands for

// The usual folders of an installer. A `*` stands for a name with a version in it, once.
struct UsualPlaces {
  std::string_view program;
  std::string_view package;  // for people
  std::array<std::string_view, 5> folders;
};
constexpr UsualPlaces kPlaces[] = {
    {"ncu",
     "Nsight Compute",
     {"/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*", "/usr/local/cuda-*/bin", "/usr/lib/nsight-compute", ""}},
    {"nsys",
     "Nsight Systems",
     {"/usr/local/cuda/bin", "/opt/nvidia/nsight-systems/*/bin", "/opt/nvidia/nsight-systems-cli/*/bin",
      "/usr/local/cuda-*/bin", "/usr/lib/nsight-systems/bin"}},
    {"neuron-explorer", "the Neuron tools (aws-neuronx-tools)", {"/opt/aws/neuron/bin", "", "", "", ""}},
    {"neuron-profile", "the Neuron tools (aws-neuronx-tools)", {"/opt/aws/neuron/bin", "", "", "", ""}},
    {"neuron-ls", "the Neuron tools (aws-neuronx-tools)", {"/opt/aws/neuron/bin", "", "", "", ""}},
    {"neuron-monitor", "the Neuron tools (aws-neuronx-tools)", {"/opt/aws/neuron/bin", "", "", "", ""}},
};

const UsualPlaces* PlacesOf(std::string_view program) {
  for (const UsualPlaces& places : kPlaces) {
    if (places.program == program) return &places;
  }
  return nullptr;
}

bool IsDigitOf(char c) {
  return c >= '0' && c <= '9';
}

// By the numbers in the names: 2024.10 is newer than 2024.9.
bool IsNewer(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsDigitOf(a[0]) && IsDigitOf(b[0])) {
      uint64_t left = 0;
      uint64_t right = 0;
      const char* const left_end = std::from_chars(a.data(), a.data() + a.size(), left).ptr;
      const char* const right_end = std::from_chars(b.data(), b.data() + b.size(), right).ptr;
      if (left != right) return left > right;
      a.remove_prefix(static_cast<size_t>(left_end - a.data()));
      b.remove_prefix(static_cast<size_t>(right_end - b.data()));
    } else {
      if (a[0] != b[0]) return a[0] > b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() > b.size();
}

// The names in a folder that a pattern matches, the newest first.
std::vector<std::string> MatchingNames(const std::string& folder, const std::string& pattern) {
  std::vector<std::string> names;
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr) return names;
  for (const dirent* entry = ::readdir(open); entry != nullptr && names.size() < kMostFolders;
       entry = ::readdir(open)) {
    if (::fnmatch(pattern.c_str(), entry->d_name, FNM_PERIOD) == 0) names.emplace_back(entry->d_name);
  }
  ::closedir(open);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return IsNewer(a, b); });
  return names;
}

// The folders that a usual place stands for.
std::vector<std::string> FoldersOf(const std::string& place) {
  const size_t star = place.find('*');
  if (star == std::string::npos) return {place};
  const size_t begin = place.rfind('/', star);
  const size_t end = std::min(place.find('/', star), place.size());
  std::vector<std::string> folders;
  for (const std::string& name : MatchingNames(place.substr(0, begin), place.substr(begin + 1, end - begin - 1))) {
    folders.push_back(place.substr(0, begin + 1) + name + place.substr(end));
  }
  return folders;
}

bool IsProgram(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Absolute entries alone.
std::vector<std::string> FoldersIn(std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    if (path[0] == '/') folders.emplace_back(path.substr(0, colon));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return folders;
}

}  // namespace

bool IsRootsAlone(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return false;
  std::string part = resolved;
  while (true) {
    struct stat about {};
    if (::stat(part.c_str(), &about) != 0 || about.st_uid != 0) return false;
    const bool is_open = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (is_open && !(S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0)) return false;
    if (part == "/") return true;
    part.resize(std::max<size_t>(part.rfind('/'), 1));
  }
}

Result<std::string> FindVendorProgram(std::string_view name, const std::vector<std::string>& environment,
                                      const ProgramSearch& search) {
  std::string looked;
  const auto look_in = [&](const std::string& folder) -> std::string {
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
    return IsProgram(path) ? path : "";
  };
  if (const char* named = FindVariable(environment, kToolPathVariable); named != nullptr) {
    for (const std::string& folder : FoldersIn(named)) {
      const std::string path = look_in(folder);
      if (!path.empty() && (search.trusts_tool_path || IsRootsAlone(path))) return path;
    }
    looked = " in tool_path " + ClippedText(named, kShownPathsBytes) + ",";
  }
  const std::string path_variable = PathIn(environment);
  for (const std::string& folder : FoldersIn(path_variable)) {
    if (std::string path = look_in(folder); !path.empty()) return path;
  }
  const UsualPlaces* places = PlacesOf(name);
  for (const std::string_view place : places == nullptr ? std::array<std::string_view, 5>{} : places->folders) {
    if (place.empty()) continue;
    for (const std::string& folder : FoldersOf(search.root + std::string(place))) {
      if (std::string path = look_in(folder); !path.empty()) return path;
    }
  }
  return Fail(ErrorCode::kToolMissing, "find " + std::string(name),
              "there is no " + std::string(name) + looked + " in PATH or where it is usually installed",
              RemedyForMissing(name));
}

Result<std::string> FindProgramOf(const ToolNeeds& needs, const std::vector<std::string>& environment,
                                  const ProgramSearch& search) {
  Result<std::string> first = FindVendorProgram(needs.program, environment, search);
  if (first.ok() || needs.or_program.empty()) return first;
  Result<std::string> second = FindVendorProgram(needs.or_program, environment, search);
  if (second.ok()) return second;
  return Fail(ErrorCode::kToolMissing, "find " + std::string(needs.program),
              first.status().why() + ", and no " + std::string(needs.or_program), first.status().remedy());
}

std::string RemedyForMissing(std::string_view name) {
  const UsualPlaces* places = PlacesOf(name);
  const std::string package = places == nullptr ? std::string(name) : std::string(places->package);
  return "install " + package + ", put its folder into PATH, or name it in [devices] tool_path (KPROF_TOOL_PATH)";
}

std::string VersionIn(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  for (size_t begin = 0; begin < text.size();) {
    begin = std::min(text.find_first_not_of(kSpaces, begin), text.size());
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (word.starts_with('v') || word.starts_with('V')) word.remove_prefix(1);
    const std::string_view version = word.substr(0, word.find_first_not_of("0123456789."));
    // "2024.4.2.133-244234382004v0", "3.3.5,", "2.33.38.0%kaena-tools"
    const bool goes_on = version.size() < word.size() && word[version.size()] != '-' && word[version.size()] != ',' &&
                         word[version.size()] != '%';
    if (version.find('.') != std::string_view::npos && version.front() != '.' && !goes_on) return std::string(version);
  }
  return "";
}

int64_t ReleaseOf(std::string_view version) {
  int64_t year = 0;
  int64_t release = 0;
  const auto [dot, year_error] = std::from_chars(version.data(), version.data() + version.size(), year);
  if (year_error != std::errc() || dot == version.data() + version.size() || *dot != '.') return 0;
  const auto [end, error] = std::from_chars(dot + 1, version.data() + version.size(), release);
  if (error != std::errc() || year < 2018 || year > 2999 || release < 0 || release > 99) return 0;
  return year * 100 + release;
}

}  // namespace kprof
