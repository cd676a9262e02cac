#include "daemon/capture/neuron_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostNames = 100'000;  // of one search
constexpr int kNeffDepth = 4;           // folders below that of the command
constexpr size_t kNtffHeaderBytes = 128;
constexpr int kMeasuredNtffVersion = 5;
constexpr size_t kNamesInNote = 5;

// One search: what it has found, and how much it has looked at.
struct NeuronFileSearch {
  std::string_view ending;
  std::vector<NeuronFile> found;
  size_t names = 0;
};

void SearchFolder(const std::string& folder, int depth, NeuronFileSearch& search) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  DIR* open = ::fdopendir(fd);
  if (open == nullptr) {
    ::close(fd);
    return;
  }
  std::vector<std::string> below;
  while (const dirent* entry = ::readdir(open)) {
    if (++search.names > kMostNames || search.found.size() >= kMostNeuronFiles) break;
    const std::string name = entry->d_name;
    if (name.starts_with('.')) continue;
    struct stat about {};
    const bool may_be_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (!may_be_folder && !name.ends_with(search.ending)) continue;
    if (::fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + name;
    if (S_ISDIR(about.st_mode)) below.push_back(path);
    if (!S_ISREG(about.st_mode) || !name.ends_with(search.ending)) continue;
    search.found.push_back({path, about.st_size, about.st_ctim.tv_sec * kNanosPerSecond + about.st_ctim.tv_nsec});
  }
  ::closedir(open);
  if (depth == 0) return;
  for (const std::string& path : below) SearchFolder(path, depth - 1, search);
}

std::string NameIn(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool MatchesNeffPattern(const std::string& pattern, const std::string& folder, const std::string& path) {
  if (pattern.empty()) return true;
  if (pattern.find('/') == std::string::npos) return ::fnmatch(pattern.c_str(), NameIn(path).c_str(), 0) == 0;
  const std::string whole = pattern.starts_with('/') ? pattern : folder + "/" + pattern;
  return ::fnmatch(whole.c_str(), path.c_str(), 0) == 0;
}

const NeuronFile* NewestOf(const std::vector<const NeuronFile*>& files) {
  const auto newest = std::max_element(files.begin(), files.end(), [](const NeuronFile* a, const NeuronFile* b) {
    return a->changed_ns < b->changed_ns;
  });
  return newest == files.end() ? nullptr : *newest;
}

uint64_t LittleEndian64(const unsigned char* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

// By the numbers in the names: profile_exec_10 comes after profile_exec_2.
bool ComesBeforeByNumber(const NeuronFile& a, const NeuronFile& b) {
  return std::pair(a.path.size(), a.path) < std::pair(b.path.size(), b.path);
}

}  // namespace

std::vector<NeuronFile> FilesEndingWith(const std::string& folder, std::string_view ending, int depth) {
  NeuronFileSearch search{.ending = ending, .found = {}};
  SearchFolder(folder, depth, search);
  std::sort(search.found.begin(), search.found.end(),
            [](const NeuronFile& a, const NeuronFile& b) { return a.path < b.path; });
  return std::move(search.found);
}

Result<ChosenNeff> ChooseNeff(const std::string& folder, const std::string& pattern, int64_t begun_ns) {
  const std::string act = "find the NEFF of the command";
  std::string searched = folder;
  // A pattern with an absolute folder in it is searched from there.
  if (pattern.starts_with('/')) {
    const size_t sign = std::min(pattern.find_first_of("*?["), pattern.size());
    searched = pattern.substr(0, pattern.rfind('/', sign));
    if (searched.empty()) searched = "/";
  }
  const std::vector<NeuronFile> all = FilesEndingWith(searched, ".neff", kNeffDepth);
  std::vector<const NeuronFile*> matching;
  std::vector<const NeuronFile*> of_the_run;
  for (const NeuronFile& file : all) {
    if (!MatchesNeffPattern(pattern, folder, file.path)) continue;
    matching.push_back(&file);
    if (file.changed_ns >= begun_ns) of_the_run.push_back(&file);
  }
  if (matching.empty()) {
    return Fail(ErrorCode::kToolFailed, act,
                pattern.empty() ? "the command left no .neff file in its folder " + ClippedText(folder, 200)
                                : "no .neff file matches '" + ClippedText(pattern, 200) + "'",
                "run it where it may write, with NEURON_COMPILE_CACHE_URL of an empty folder: a NEFF from the cache is "
                "not written again; or give the file: kprofctl capture neuron FILE.neff");
  }
  ChosenNeff chosen;
  if (of_the_run.empty()) {
    if (pattern.empty()) {
      return Fail(ErrorCode::kToolFailed, act,
                  "the command wrote none; its folder has older ones, such as " + ClippedText(NameIn(all[0].path), 100),
                  "name the one that it runs: --neff PATTERN");
    }
    chosen.path = NewestOf(matching)->path;
    chosen.notes.push_back("neff_older: " + ClippedText(NameIn(chosen.path), 150) +
                           " was there before the command began; it may not be what the command ran");
    return chosen;
  }
  chosen.path = NewestOf(of_the_run)->path;
  if (of_the_run.size() == 1) return chosen;
  std::string others;
  size_t named = 0;
  for (const NeuronFile* file : of_the_run) {
    if (file->path == chosen.path || ++named > kNamesInNote) continue;
    others += (others.empty() ? "" : ", ") + ClippedText(NameIn(file->path), 80);
  }
  chosen.notes.push_back("neff_chosen: the command left " + std::to_string(of_the_run.size()) + " NEFFs; the newest, " +
                         ClippedText(NameIn(chosen.path), 80) + ", is profiled, and not " + others +
                         (named > kNamesInNote ? ", ..." : "") + "; --neff PATTERN chooses another");
  return chosen;
}

Result<int> CheckNtff(const std::string& path) {
  const std::string name = ClippedText(NameIn(path), 150);
  const std::string act = "check " + name;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0) {
    return Fail(ErrorCode::kToolFailed, act, ClippedText(path, 200) + ": " + std::strerror(errno),
                "name an NTFF file that this user may read");
  }
  if (!S_ISREG(about.st_mode)) {
    return Fail(ErrorCode::kToolFailed, act, ClippedText(path, 200) + " is no file", "name an NTFF file");
  }
  if (about.st_size == 0) {
    return Fail(ErrorCode::kToolFailed, act, name + " is empty: its core executed nothing while it was profiled",
                "profile a core that runs the NEFF, and an execution that it reaches: --profile-nth-exec");
  }
  std::array<unsigned char, kNtffHeaderBytes> header{};
  const ssize_t size = ::pread(file.get(), header.data(), header.size(), 0);
  if (size < 0) return FailErrno(errno, act);
  const int version = header[0];
  if (version != kMeasuredNtffVersion) return version;
  const auto too_short = [&](uint64_t wanted) {
    return Fail(ErrorCode::kToolFailed, act,
                name + " is cut: it has " + std::to_string(about.st_size) + " bytes, and by its header at least " +
                    std::to_string(wanted),
                "copy or capture it again, and see that the disk was not full");
  };
  if (static_cast<size_t>(size) < kNtffHeaderBytes) return too_short(kNtffHeaderBytes);
  const uint64_t message = LittleEndian64(&header[1]);
  const uint64_t section = LittleEndian64(&header[9]);
  constexpr uint64_t kMostSection = uint64_t{1} << 50;
  if (message > kMostSection || section > kMostSection) return too_short(kMostSection);
  const uint64_t wanted = kNtffHeaderBytes + message + section;
  return wanted > static_cast<uint64_t>(about.st_size) ? Result<int>(too_short(wanted)) : Result<int>(version);
}

std::vector<NeuronFile> CapturedNtffs(const std::string& folder) {
  std::vector<NeuronFile> found = FilesEndingWith(folder, ".ntff", 0);
  std::erase_if(found, [](const NeuronFile& file) { return !NameIn(file.path).starts_with("profile"); });
  std::sort(found.begin(), found.end(), ComesBeforeByNumber);
  return found;
}

std::string StemOf(std::string_view path) {
  const std::string name = NameIn(path);
  return name.substr(0, name.rfind('.'));
}

}  // namespace kprof
