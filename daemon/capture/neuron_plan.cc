#include "daemon/capture/neuron_plan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/neuron_files.h"
#include "daemon/capture/vendor_program.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/descriptors.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr char kVersionAnswer[] = ".neuron-version";
constexpr char kHelpAnswer[] = ".neuron-view-help";
constexpr size_t kMostWordsBytes = 256 << 10;
constexpr size_t kMostSummaryBytes = 16 << 20;
constexpr int64_t kAnswerLimitMs = 20'000;
constexpr size_t kShownWordsBytes = 300;
constexpr size_t kMostViewed = 64;  // profiles of one run
constexpr std::string_view kViewEnding = ".view.json";
constexpr std::string_view kSummaryEnding = ".summary.json";

std::string InNeuronFolder(const PlanInput& input, std::string_view name) {
  return std::string(input.folder) + "/" + std::string(name);
}

bool WriteSmallFile(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return false;
  while (!text.empty()) {
    const ssize_t wrote = ::write(file.get(), text.data(), text.size());
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// A message of the vendor's programs and what helps. Each word is in lower case; all words of one must be on the line.
struct KnownTrouble {
  std::string_view words[2];
  std::string_view why;
  std::string_view remedy;
};
constexpr KnownTrouble kTroubles[] = {
    {{"resource_exhausted", ""},
     "the device's memory is too small for the profile (profiling takes some 5 GB of it on Trn2)",
     "end what else uses the core (kprofctl devices names it), or profile a smaller NEFF or fewer workers"},
    {{"failed to allocate", ""},
     "the device's memory is too small for the profile",
     "end what else uses the core (kprofctl devices names it), or profile a smaller NEFF or fewer workers"},
    {{"no neuron device", ""},
     "there is no Neuron device here",
     "run it on an inf2, trn1, trn2 or trn3 instance with the Neuron driver loaded: see neuron-ls and kprofctl doctor"},
    {{"/dev/neuron", "permission denied"},
     "this user may not open the Neuron devices",
     "let the user read and write /dev/neuron*: as root, chmod or a udev rule"},
    {{"/dev/neuron", ""},
     "the Neuron device cannot be opened",
     "see that the Neuron driver is loaded: neuron-ls, kprofctl doctor"},
    {{"nrt_", "busy"},
     "another process has the NeuronCore",
     "end it (kprofctl devices names it), or lease another device: --device"},
    {{"in use", ""},
     "another process has the NeuronCore",
     "end it (kprofctl devices names it), or lease another device: --device"},
    {{"$home", ""}, "HOME is not set", "give it a folder: --env HOME=/tmp"},
    {{"home is not defined", ""}, "HOME is not set", "give it a folder: --env HOME=/tmp"},
    {{"ntff", "version"},
     "the NTFF is of a version that this program does not read",
     "view it with the program of the SDK that captured it, or capture it again with this one"},
    {{"unsupported", "version"},
     "the file is of a version that this program does not read",
     "use the Neuron tools of the SDK that made the file"},
    {{"neff", "version"},
     "the NEFF is of a version that this runtime does not run",
     "compile it again with the compiler of this SDK"},
    {{"error_process_incomplete", ""},
     "the profile cannot be processed whole",
     "give the NEFF that the NTFF was captured of (their ids must be equal); an NTFF above 5 GB is too large"},
    {{"influxdb", ""},
     "the program wants its database",
     "use --view json, or neuron-explorer in place of neuron-profile"},
    {{"hw profiler overview not found", ""},
     "the NTFF has no trace of the hardware",
     "capture again, an execution later: --profile-nth-exec 2 --num-exec 2"},
    {{"dynamic dma metadata", ""},
     "the NEFF lacks what the profile of dynamic DMA needs",
     "compile with --disable-dge (kprofctl capture neuron --disable-dge -- CMD)"},
    {{"queue overflow", ""}, "the notification queue overflowed", "leave --enable-dge-notifs out"},
    {{"timed out", ""},
     "the execution took too long on the device",
     "leave --enable-dge-notifs out, or profile a smaller NEFF"},
    {{"timeout", ""},
     "the execution took too long on the device",
     "leave --enable-dge-notifs out, or profile a smaller NEFF"},
    {{"unknown flag", ""},
     "the program does not know an option",
     "use the Neuron tools of a newer SDK, or leave it out"},
    {{"no longer supported", ""},
     "the program does not do this any more",
     "install neuron-explorer (aws-neuronx-tools), which kprof takes before neuron-profile"},
    {{"no such file", ""}, "a file is not there", "check the paths of NEFF, NTFF and inputs"},
    {{"permission denied", ""}, "a file may not be read or written", "check the modes of the file that it names"},
    {{"no space left", ""}, "the disk is full", "free space where TMPDIR is, or set TMPDIR"},
};

std::string LowerText(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// The lines of a text, without those that are empty.
std::vector<std::string_view> LinesIn(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool SaysError(const std::string& lower) {
  return lower.find("error") != std::string::npos || lower.find("fail") != std::string::npos ||
         lower.find("fatal") != std::string::npos;
}

}  // namespace

Status CheckProfileForm(const ToolOptions& options) {
  const std::string_view view = options["view"];
  for (const std::string_view known : {"auto", "tables", "json", "summary"}) {
    if (view == known) return OkStatus();
  }
  return Fail(ErrorCode::kUsage, "read --view", "there is no such form", "use one of: auto, tables, json, summary");
}

std::vector<ToolStep> AskNeuronProgram(const PlanInput& input) {
  const std::string program(input.program);
  return {{.name = "ask the Neuron program for its version",
           .argv = {program, "--version"},
           .stdout_file = kVersionAnswer,
           .limit_ms = kAnswerLimitMs},
          {.name = "ask the Neuron program for its options",
           .argv = {program, "view", "--help"},
           .stdout_file = kHelpAnswer,
           .limit_ms = kAnswerLimitMs}};
}

NeuronViewer ReadNeuronViewer(const PlanInput& input) {
  NeuronViewer viewer;
  viewer.program = std::string(input.program);
  viewer.is_explorer = input.program.substr(input.program.rfind('/') + 1) == kNeuronProgram;
  viewer.version = VersionIn(ReadToolFile(InNeuronFolder(input, kVersionAnswer), kMostWordsBytes));
  viewer.help = ReadToolFile(InNeuronFolder(input, kHelpAnswer), kMostWordsBytes);
  if (viewer.help.find("--output-format") == std::string::npos) viewer.help.clear();  // it is another text
  return viewer;
}

bool NeuronViewer::Takes(std::string_view word) const {
  if (help.empty()) return true;
  const auto is_within_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; };
  for (size_t at = help.find(word); at != std::string::npos; at = help.find(word, at + 1)) {
    const bool begins = at == 0 || !is_within_word(help[at - 1]);
    const bool ends = at + word.size() >= help.size() || !is_within_word(help[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

ProfileForm ChooseProfileForm(const ToolOptions& options, const NeuronViewer& viewer, size_t profiles) {
  const std::string_view view = options["view"];
  if (view == "tables") return ProfileForm::kTables;
  if (view == "json") return ProfileForm::kJson;
  if (view == "summary") return ProfileForm::kSummary;
  // neuron-profile names parquet in its help, and refuses it.
  if (!viewer.is_explorer || !viewer.Takes("parquet")) return ProfileForm::kJson;
  return profiles > 1 && viewer.Takes("json") ? ProfileForm::kJson : ProfileForm::kTables;
}

std::vector<ToolStep> ViewSteps(const PlanInput& input, const NeuronViewer& viewer, const std::string& neff,
                                const std::string& ntff, ProfileForm form) {
  const std::string stem = StemOf(ntff);
  const auto words = [&](const char* format) {
    return std::vector<std::string>{viewer.program, "view", "-n", neff, "-s", ntff, "--output-format", format};
  };
  const auto add_root = [&](std::vector<std::string>& argv) {
    const std::string root(input.options["source-root"]);
    if (root.empty()) return;
    argv.insert(argv.end(), {"--framework-source-root", root});
    if (viewer.is_explorer && viewer.Takes("--nki-source-root")) argv.insert(argv.end(), {"--nki-source-root", root});
  };
  std::vector<ToolStep> steps;
  if (form != ProfileForm::kSummary) {
    const bool is_tables = form == ProfileForm::kTables;
    ToolStep main{.name = "view " + stem, .argv = words(is_tables ? "parquet" : "json")};
    main.argv.insert(
        main.argv.end(),
        {"--output-file", InNeuronFolder(input, stem + (is_tables ? ".tables" : std::string(kViewEnding)))});
    // It would serve a page as well, and never end.
    if (is_tables && !viewer.help.empty() && viewer.Takes("--disable-ui")) main.argv.emplace_back("--disable-ui");
    add_root(main.argv);
    steps.push_back(std::move(main));
  }
  ToolStep summary{.name = "summarise " + stem, .argv = words("summary-json")};
  summary.stdout_file = stem + std::string(form == ProfileForm::kSummary ? kViewEnding : kSummaryEnding);
  summary.is_optional = form != ProfileForm::kSummary;
  steps.push_back(std::move(summary));
  return steps;
}

NextSteps ViewAll(const PlanInput& input, const std::string& neff, const std::vector<std::string>& ntffs) {
  const NeuronViewer viewer = ReadNeuronViewer(input);
  const ProfileForm form = ChooseProfileForm(input.options, viewer, ntffs.size());
  const size_t most = form == ProfileForm::kTables ? 1 : kMostViewed;
  NextSteps next;
  for (size_t i = 0; i < std::min(ntffs.size(), most); ++i) {
    for (ToolStep& step : ViewSteps(input, viewer, neff, ntffs[i], form)) next.steps.push_back(std::move(step));
  }
  if (ntffs.size() <= most) return next;
  next.notes.push_back(
      "output_left_out: " + std::to_string(ntffs.size() - most) + " NTFFs more are kept, and were not made readable: " +
      (form == ProfileForm::kTables ? "the tables of two profiles would be taken for one; " : "they are too many; ") +
      "kprofctl import FILE.neff FILE.ntff does it, one by one");
  return next;
}

void CleanSummaries(const std::string& folder) {
  for (const NeuronFile& file : FilesEndingWith(folder, ".json", 0)) {
    if (file.size_bytes > static_cast<int64_t>(kMostSummaryBytes)) continue;
    const std::string text = ReadToolFile(file.path, kMostSummaryBytes);
    const auto next_line = [&text](size_t at) { return std::min(text.find('\n', at), text.size() - 1) + 1; };
    size_t begin = 0;
    while (begin < text.size()) {
      // "[INFO] ..." is a line of a log, too.
      const bool is_log = text[begin] == '[' && begin + 1 < text.size() &&
                          std::isalpha(static_cast<unsigned char>(text[begin + 1])) != 0;
      if ((text[begin] == '{' || text[begin] == '[') && !is_log) break;
      begin = next_line(begin);
    }
    if (begin == 0 || begin >= text.size()) continue;
    const std::string fresh = file.path + ".new";
    if (WriteSmallFile(fresh, std::string_view(text).substr(begin))) ::rename(fresh.c_str(), file.path.c_str());
  }
}

void WriteNeuronSettings(const PlanInput& input, const NeuronViewer& viewer, const std::vector<std::string>& argv) {
  std::string words;
  for (const std::string& word : argv) words += (words.empty() ? "" : ",") + JsonQuoted(ReadableText(word));
  const ProfileForm view = ChooseProfileForm(input.options, viewer);
  WriteSmallFile(InNeuronFolder(input, "tool.json"),
                 "{\"schema\":\"kprof.tool.v1\",\"tool\":" + JsonQuoted(input.request.tool) +
                     ",\"program\":" + JsonQuoted(ReadableText(viewer.program)) +
                     ",\"version\":" + (viewer.version.empty() ? "null" : JsonQuoted(viewer.version)) + ",\"view\":" +
                     (view == ProfileForm::kTables ? "\"tables\""
                      : view == ProfileForm::kJson ? "\"json\""
                                                   : "\"summary\"") +
                     ",\"argv\":[" + words + "]}\n");
}

std::vector<std::string> NeuronEnvironment(const PlanInput& input) {
  std::vector<std::string> environment = input.request.environment;
  std::erase_if(environment, [](const std::string& variable) {
    return variable.starts_with(std::string(kToolPathVariable) + "=") ||
           variable.starts_with(std::string(kNcuFolderVariable) + "=");
  });
  return environment;
}

Status CheckNeuronHome(const PlanInput& input) {
  const char* home = FindVariable(input.request.environment, "HOME");
  if (home != nullptr && home[0] == '/') return OkStatus();
  return Fail(ErrorCode::kToolFailed, "run " + std::string(input.program),
              "HOME is not set to a folder, and the Neuron programs do not work without it",
              "give it one: --env HOME=/tmp");
}

Status WhyNeuronFailed(const std::string& act, const TriedCommand& ended, const PlanInput& input) {
  const std::string name(input.program.substr(input.program.rfind('/') + 1));
  const std::vector<std::string_view> lines = LinesIn(ended.printed);
  std::string_view said;
  for (const std::string_view line : lines) {
    const std::string lower = LowerText(line);
    if (!SaysError(lower)) continue;
    for (const KnownTrouble& known : kTroubles) {
      const bool fits = std::all_of(std::begin(known.words), std::end(known.words),
                                    [&](std::string_view word) { return lower.find(word) != std::string::npos; });
      if (!fits) continue;
      return Fail(ErrorCode::kToolFailed, act,
                  std::string(known.why) + "; " + name + " says: " + ClippedText(line, kShownWordsBytes),
                  std::string(known.remedy));
    }
    said = line;
  }
  if (said.empty() && !lines.empty()) said = lines.back();
  std::string why = name + (ended.signal ? " was ended by " + SignalName(*ended.signal)
                                         : " ended with " + std::to_string(ended.exit_code.value_or(0)));
  if (!said.empty()) why += "; it says: " + ClippedText(said, kShownWordsBytes);
  return Fail(ErrorCode::kToolFailed, act, why, "see all that it said: kprofctl logs, and --stderr");
}

std::vector<std::string> NeuronWarnings(std::string_view printed) {
  std::vector<std::string> notes;
  for (const std::string_view line : LinesIn(printed)) {
    const std::string lower = LowerText(line);
    if (lower.find("trace events were dropped") != std::string::npos) {
      notes.push_back("events_dropped: " + ClippedText(line, kShownWordsBytes) +
                      " (NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC is the size of a core's ring: --max-events)");
    } else if (lower.find("missing data") != std::string::npos) {
      notes.push_back("source_incomplete: " + ClippedText(line, kShownWordsBytes));
    }
  }
  return notes;
}

}  // namespace kprof
