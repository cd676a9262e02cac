// The part that the tools of Neuron captures share: the vendor's program and its answers, the command lines that make
// readable files of a profile, and the meaning of its messages. The program is neuron-explorer, or neuron-profile, its
// predecessor, with the same verbs.
//
// kprof-launch calls all of it, as the caller. Blocks for small files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/tool.h"

namespace kprof {

inline constexpr std::string_view kNeuronProgram = "neuron-explorer";
inline constexpr std::string_view kOlderNeuronProgram = "neuron-profile";

// The form in which a profile is read. Tables are Parquet files, one folder for a profile: the form of neuron-explorer,
// which alone it has after SDK 2.33. Summary: the counters alone.
enum class ProfileForm { kTables, kJson, kSummary };

inline constexpr ToolOption kProfileForm{
    .name = "view",
    .type = ToolOptionType::kText,
    .usual = "auto",
    .meaning = "The form that is read: tables (Parquet), json or summary; auto: the best that the program has"};

inline constexpr ToolOption kNeuronSourceRoot{
    .name = "source-root",
    .type = ToolOptionType::kText,
    .usual = "",
    .meaning = "The folder that the source files named in the profile lie in"};

// kUsage for a value of --view that there is none of.
Status CheckProfileForm(const ToolOptions& options);

// The program that was found, by its answers.
struct NeuronViewer {
  std::string program;
  bool is_explorer = false;
  std::string version;  // "2.33.38.0"; empty: it told none
  std::string help;     // of its verb `view`; empty: it told nothing

  // True where its help names the flag or the form, as a word, or it has no help.
  bool Takes(std::string_view word) const;
};

// Its questions: the version, and the help of `view`. An answer that fails is none.
std::vector<ToolStep> AskNeuronProgram(const PlanInput& input);
NeuronViewer ReadNeuronViewer(const PlanInput& input);

// By the option --view, and by what the program has. `profiles`: how many there are in the run. Tables of several would
// be taken for one, so of several the form is JSON, a file for each, unless tables are insisted on or are all there is.
ProfileForm ChooseProfileForm(const ToolOptions& options, const NeuronViewer& viewer, size_t profiles = 1);

// The steps that make readable files of one device profile in the tool's folder: STEM.view.json, or the folder
// STEM.tables, and STEM.summary.json; where the summary alone is asked for, it is STEM.view.json. STEM is that of the
// NTFF.
std::vector<ToolStep> ViewSteps(const PlanInput& input, const NeuronViewer& viewer, const std::string& neff,
                                const std::string& ntff, ProfileForm form);

// The steps for all of them. In the form of tables only the first profile is viewed; a note names the rest.
NextSteps ViewAll(const PlanInput& input, const std::string& neff, const std::vector<std::string>& ntffs);

// Cuts the lines of a log off that the program printed before the JSON of summaries. Where that fails they stay.
void CleanSummaries(const std::string& folder);

// tool.json: program, version, command line. Where it cannot be written the run is none the worse.
void WriteNeuronSettings(const PlanInput& input, const NeuronViewer& viewer, const std::vector<std::string>& argv);

// The command's environment: the request's without what is kprof-launch's alone.
std::vector<std::string> NeuronEnvironment(const PlanInput& input);

// kToolFailed where HOME is not set: the program cannot work without it.
Status CheckNeuronHome(const PlanInput& input);

// Why the vendor's program failed, in its own words, with a remedy where they are known. `act`: "profile file.neff".
// `printed`: the end of what it printed.
Status WhyNeuronFailed(const std::string& act, const TriedCommand& ended, const PlanInput& input);

// Notes for what a program that ended well warned of: events that were dropped, data that is missing.
std::vector<std::string> NeuronWarnings(std::string_view printed);

}  // namespace kprof
