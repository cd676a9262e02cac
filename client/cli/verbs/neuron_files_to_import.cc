#include "client/cli/verbs/neuron_files_to_import.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/import_files.h"

namespace kprof::cli {
namespace {

constexpr size_t kMostNames = 10'000;
constexpr int kMostDepth = 6;
constexpr char kRuntimeTrace[] = "ntrace.pb";

// The Neuron files among those given, or in a folder.
struct NeuronFiles {
  std::vector<std::string> neffs;
  std::vector<std::string> ntffs;
  std::string runtime_trace;  // a path; empty: there is none
  size_t others = 0;          // of which an import may read something

  void Add(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.ends_with(".neff")) {
      neffs.push_back(path);
    } else if (name.ends_with(".ntff")) {
      ntffs.push_back(path);
    } else if (name == kRuntimeTrace) {
      if (runtime_trace.empty()) runtime_trace = path;
    } else {
      ++others;
    }
  }
};

// Links to folders are not followed.
NeuronFiles FilesIn(const std::string& folder) {
  NeuronFiles found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  size_t names = 0;
  for (const std::filesystem::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (++names > kMostNames) break;
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const std::string path = at->path().string();
    const std::string name = at->path().filename().string();
    const bool is_neurons = name.ends_with(".neff") || name.ends_with(".ntff") || name == kRuntimeTrace;
    if (is_neurons || LooksLikeTrace(name) || LooksLikeArchive(name)) found.Add(path);
  }
  std::sort(found.neffs.begin(), found.neffs.end());
  std::sort(found.ntffs.begin(), found.ntffs.end());
  return found;
}

// As a shell takes it.
std::string Word(const std::string& path) {
  const std::string text = TerminalText(path);
  return text.find_first_of(" '\"$&;()<>|*?") == std::string::npos ? text : "'" + text + "'";
}

Status TellOfRuntimeTrace(const NeuronFiles& files, const std::string& folder) {
  const size_t slash = files.runtime_trace.rfind('/');
  const std::string tree = !folder.empty()              ? folder
                           : slash == std::string::npos ? "."
                                                        : files.runtime_trace.substr(0, slash);
  return Fail(ErrorCode::kUsage, "import " + TerminalText(folder.empty() ? files.runtime_trace : folder),
              TerminalText(files.runtime_trace) + " is the Neuron runtime's own file, which its tools alone read",
              "write neuron-explorer view -d " + Word(tree) +
                  " --output-format json, then kprofctl import system_profile.json; or capture anew: kprofctl capture "
                  "neuron-system -- CMD");
}

Status TellOfNeffAlone(const NeuronFiles& files) {
  const std::string& neff = files.neffs.front();
  return Fail(ErrorCode::kUsage, "import " + TerminalText(neff),
              "a NEFF is a program, and there is no NTFF beside it, which a profile of it is",
              "execute and profile it: kprofctl capture neuron " + Word(neff) +
                  "; or give the NTFF as well: kprofctl "
                  "import " +
                  Word(neff) + " FILE.ntff");
}

}  // namespace

Result<std::optional<CaptureArgs>> CaptureOfNeuronFiles(const ImportArgs& args) {
  NeuronFiles files;
  std::string folder;
  std::error_code ignored;
  if (args.files.size() == 1 && std::filesystem::is_directory(args.files[0], ignored)) {
    folder = args.files[0];
    files = FilesIn(folder);
    if (files.others > 0) return std::optional<CaptureArgs>();
  } else {
    for (const std::string& file : args.files) files.Add(file);
    if (files.others == args.files.size()) return std::optional<CaptureArgs>();
  }
  if (!files.runtime_trace.empty()) return TellOfRuntimeTrace(files, folder);
  if (files.neffs.empty() && files.ntffs.empty()) return std::optional<CaptureArgs>();
  if (files.ntffs.empty() && files.others == 0 && files.neffs.size() == 1) return TellOfNeffAlone(files);
  if (files.neffs.size() != 1 || files.ntffs.empty() || files.others > 0) {
    const bool is_known = !files.neffs.empty() && !files.ntffs.empty();
    return Fail(ErrorCode::kUsage, "import an NTFF",
                "an NTFF is read together with the one NEFF that it was captured of, and there are " +
                    std::to_string(files.neffs.size()) + " NEFFs and " + std::to_string(files.ntffs.size()) + " NTFFs" +
                    (files.others > 0 ? " and other files" : ""),
                is_known ? "write kprofctl import " + Word(files.neffs[0]) + " " + Word(files.ntffs[0]) +
                               ", and the like of the others"
                         : "write kprofctl import FILE.neff FILE.ntff");
  }
  if (args.format != "auto" || args.rank || args.separate) {
    return Fail(ErrorCode::kUsage, "import an NTFF", "--format, --rank and --separate are not for NEFF and NTFF",
                "leave them out; --label rank=N names the rank");
  }
  std::string ntffs;
  for (const std::string& ntff : files.ntffs) ntffs += (ntffs.empty() ? "" : ",") + ntff;
  CaptureArgs capture;
  capture.tool = "neuron";
  capture.tool_words = {files.neffs[0], "--ntff", ntffs};
  capture.device = "none";
  capture.labels = args.labels;
  capture.shared = args.shared;
  capture.detach = args.detach;
  capture.quiet = true;
  capture.quiet_summary = true;
  return std::optional(capture);
}

}  // namespace kprof::cli
