// The parsed command line: the options that every verb has, and one struct per verb, checked for form. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/cli/text/rows.h"
#include "kprof/v1/run.pb.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof::cli {

struct GlobalOptions {
  std::string socket;  // empty: search
  std::string node;    // HOST:PORT of a daemon on another node, and the files for it; empty: see find_daemon.h
  std::string ca;
  std::string cert;
  std::string key;
  bool json = false;
};

// --help and --version: nothing but this text.
struct PrintText {
  std::string text;
};

// --help of a tool or of an analysis: the text, and what the daemon tells of it where one is there.
struct HelpOfToolArgs {
  std::string tool;
  std::string text;
};

struct HelpOfAnalysisArgs {
  std::string kind;
  std::string text;
};

struct StatusArgs {};

struct DevicesArgs {
  bool watch = false;
  bool events = false;
};

// The verdicts that make an exit code. kInconclusive: slower as well.
enum class FailOn : uint8_t { kNothing, kSlower, kInconclusive };

struct CaptureArgs {
  std::string tool;
  std::vector<std::string> command;  // bytes, as given after --
  std::string device;
  int64_t timeout_ms = 0;
  int64_t queue_timeout_ms = 0;
  std::vector<std::string> env;  // K=V or K; bytes
  std::string cwd;
  std::map<std::string, std::string> labels;
  bool shared = false;
  bool detach = false;
  std::string session;
  int64_t priority = 0;
  std::string clocks;
  int64_t cool_down_ms = 0;
  bool exclusive = false;
  std::vector<std::string> collect;  // globs; bytes
  std::string prepare;               // bytes
  std::string check;
  std::string kernel;  // what is measured; kept as labels
  std::string version;
  std::string params;                   // JSON, or @FILE
  std::string baseline;                 // a run
  std::vector<std::string> tool_words;  // the tool's options; the daemon knows them, kprofctl does not
  bool list = false;                    // lists the tools; nothing is captured
  bool quiet = false;
  FailOn fail_on = FailOn::kNothing;
  std::string markdown;        // a file that gets the verdict, at its end; empty: none
  bool quiet_summary = false;  // with `quiet`: the first look at its trace follows the report, as after an import
};

struct RankExecArgs {
  std::vector<std::string> command;  // bytes, as given after --
  bool scalene = false;
  std::string job;     // empty: as the launcher calls it
  std::string device;  // empty: by the rank's cores
  std::vector<std::string> wraps;
  std::map<std::string, std::string> labels;
  std::string timeout;  // durations, as they were typed
  std::string queue_timeout = "10m";
  bool quiet = false;
};

struct ImportArgs {
  std::vector<std::string> files;  // paths, of folders too, or "-"; bytes
  bool keep_source = false;
  bool again = false;
  std::string format = "auto";
  std::optional<int64_t> rank;
  bool one_run = false;   // all files are one run; with neither of the two, those of one job are
  bool separate = false;  // each file is a run
  std::map<std::string, std::string> labels;
  bool shared = false;
  bool detach = false;
};

struct OpenSessionArgs {
  std::string device;
  std::string clocks;
  int64_t ttl_ms = 0;
  int64_t idle_timeout_ms = 0;
  int64_t queue_timeout_ms = 0;
  std::map<std::string, std::string> labels;
  int64_t priority = 0;
};

struct CloseSessionArgs {
  std::string session;
};

struct ShowSessionArgs {
  std::string session;
};

struct ClocksStatusArgs {};

struct LockClocksArgs {
  std::string device;
  int64_t sm_mhz = 0;  // 0: as the device holds it
  int64_t memory_mhz = 0;
  int64_t ttl_ms = 0;
  int64_t queue_timeout_ms = 0;
};

struct ReleaseClocksArgs {
  std::string device;  // empty: all of one's own
};

struct PeaksArgs {
  std::string device;  // empty: all
};

struct RecordCeilingArgs {
  std::string run;
  std::string of;     // a word for CeilingKindOf
  std::string value;  // empty: the one that the run printed
};

struct ForgetCeilingsArgs {
  std::string device;
};

struct ListSessionsArgs {
  int64_t limit = 20;
  std::map<std::string, std::string> labels;
  std::vector<v1::SessionState> states;
};

struct RunsArgs {
  int64_t limit = 20;
  std::map<std::string, std::string> labels;
  std::vector<std::string> tools;
  std::vector<v1::RunState> states;
};

struct ShowArgs {
  std::string run;
  std::string markdown;  // as of CaptureArgs
};

struct WaitArgs {
  std::string run;
};

struct CancelArgs {
  std::string run;
};

struct DeleteArgs {
  std::vector<std::string> runs;
};

struct PinArgs {
  std::string run;
  bool pin = true;  // false: unpin
};

struct LogsArgs {
  std::string run;
  bool follow = false;
  bool from_stderr = false;
};

struct ListArtifactsArgs {
  std::string run;
};

struct GetArtifactArgs {
  std::string run;
  std::string name;
  std::string to;  // a path or "-"
};

struct PutArtifactArgs {
  std::string run;
  std::string from;  // a path or "-"
  std::string name;
};

struct QueryArgs {
  std::string sql;  // SQL, @FILE or -
  std::vector<std::string> runs;
  std::optional<RowFormat> format;
  int64_t timeout_ms = 0;  // 0: the daemon's default
  int64_t limit = 0;
  bool wide = false;
};

// Also of the verb `compare`, which asks for the analysis of that name.
struct AnalyzeArgs {
  bool list = false;
  // KIND, RUN... and the kind's options, in the order typed. The daemon's list of options tells which words are values.
  std::vector<std::string> words;
  FailOn fail_on = FailOn::kNothing;  // kInconclusive: slower as well
  std::string markdown;               // as of CaptureArgs; of `compare`
  std::optional<RowFormat> format;
  std::string table;
  bool wide = false;
  int64_t timeout_ms = 0;  // 0: the daemon's default
};

struct ExportArgs {
  std::string run;
  std::string format;
  std::string to;  // a path, of a folder too, or "-"
  std::optional<int64_t> rank;
  std::vector<std::pair<std::string, std::string>> path_maps;  // from, to
};

struct ReportArgs {
  std::string run;
  std::string format;  // md, json; empty: md, or json where --json is given
  std::string baseline;
  std::string policy;  // that judges kernels; empty: the usual one
  bool devlog = false;
  std::string file;  // the name of one of the report's files; empty: those of `format` and `devlog`
  std::string to;    // a file, a folder or "-"; empty: standard output
};

struct BackupArgs {
  std::string to;
};

struct DoctorArgs {};

struct AuditArgs {
  int64_t limit = 20;
  int64_t since_ms = 0;  // no older than this; 0: any age
  std::optional<uint32_t> uid;
};

struct CompletionArgs {
  std::string shell;
  std::string words;  // runs, tools...: these, as the daemon knows them, instead of a script
};

struct McpArgs {};

using VerbArgs =
    std::variant<PrintText, StatusArgs, DevicesArgs, CaptureArgs, RunsArgs, ShowArgs, WaitArgs, CancelArgs, DeleteArgs,
                 PinArgs, LogsArgs, ListArtifactsArgs, GetArtifactArgs, PutArtifactArgs, QueryArgs, BackupArgs,
                 DoctorArgs, AuditArgs, CompletionArgs, OpenSessionArgs, CloseSessionArgs, ShowSessionArgs,
                 ListSessionsArgs, ImportArgs, ExportArgs, ReportArgs, ClocksStatusArgs, LockClocksArgs,
                 ReleaseClocksArgs, PeaksArgs, RecordCeilingArgs, ForgetCeilingsArgs, AnalyzeArgs, HelpOfToolArgs,
                 HelpOfAnalysisArgs, RankExecArgs, McpArgs>;

}  // namespace kprof::cli
