#include "client/cli/mcp/mcp_tools.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "client/cli/text/nearest_name.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

using Kind = McpParam::Kind;

constexpr size_t kMostRows = 10'000;
constexpr size_t kMostWordBytes = 120'000;  // Linux takes no longer word

// Without members that tell how a run was asked for; `show` has them.
BriefOptions BriefOfRuns() {
  return {.leave_out = {"environment", "cwd", "uid", "sha256", "path", "artifact_count", "pinned", "shared", "attached",
                        "priority", "timeout_ms", "queue_timeout_ms", "cool_down_ms", "stdout_dropped_bytes",
                        "stderr_dropped_bytes", "queued_ns", "source_bytes"}};
}

// A list of names is whole.
constexpr size_t kAllNames = 200;

std::vector<McpTool> MakeTools() {
  const McpParam run = {"run", Kind::kText, "", true, "The run: its id, a unique prefix of one, @last, or @last~N"};
  const McpParam rows = {"rows", Kind::kRows, "", false, "Items of each list to show (default: 20)"};
  const McpParam session = {"session", Kind::kText, "", true, "Its id, a unique prefix of one, or @last"};
  const McpParam kind = {"kind", Kind::kText, "", true, "The analysis"};
  return {
      {.name = "capture",
       .verb = {"capture"},
       .meaning = "Run a command under a measuring tool, on a leased device, and wait for its end. Gives the run: "
                  "metrics, trust, artifacts. Tool event with `against` gives a verdict: FASTER, SLOWER, SAME or "
                  "INCONCLUSIVE.",
       .only_reads = false,
       .runs_command = true,
       .brief = BriefOfRuns(),
       .params =
           {{"tool", Kind::kText, "", true,
             "event (how long; which is faster), command, ncu, nsys, annotation, neuron, neuron-system: see "
             "capture_tools"},
            {"command", Kind::kCommand, "", false, "The command: a list of words, or one line for sh -c"},
            {"against", Kind::kText, "--against", false,
             "Of event: the baseline's command, one line for sh -c. Both run in turns on one lease"},
            {"options", Kind::kToolOptions, "", false,
             "The tool's own options by name, as {\"samples\": 50}: see capture_tools"},
            {"device", Kind::kText, "--device", false,
             "0, or 0,1, a UUID, all, cpu or none (default: the first accelerator, else cpu)"},
            {"clocks", Kind::kText, "--clocks", false, "none, base, lock or lock=MHZ (default: as the tool wants it)"},
            {"session", Kind::kText, "--session", false, "Run it as the next round of this session"},
            {"baseline", Kind::kText, "--baseline", false, "The run that its report compares with"},
            {"timeout_s", Kind::kSeconds, "--timeout", false, "End the command after this long"},
            {"queue_timeout_s", Kind::kSeconds, "--queue-timeout", false,
             "Give up when it has waited this long for the device"},
            {"prepare", Kind::kText, "--prepare", false, "A line for sh -c, before the device is leased: compile here"},
            {"check", Kind::kText, "--check", false, "A line for sh -c that fails where the result is wrong"},
            {"labels", Kind::kPairs, "--label", false, "Notes by which runs are found"},
            {"kernel", Kind::kText, "--kernel", false, "What is measured"},
            {"version", Kind::kText, "--version", false, "Which version of it"},
            {"params", Kind::kObject, "--params", false, "Its parameters: shapes, types"},
            {"cwd", Kind::kText, "--cwd", false, "The folder in which the command starts"},
            {"env", Kind::kPairs, "--env", false, "Variables for the command"},
            {"collect", Kind::kTexts, "--collect", false,
             "Globs of files that it leaves: kept, and traces among them read"},
            {"exclusive", Kind::kSwitch, "--exclusive", false, "Wait until nobody else's processes are on the device"},
            rows}},
      {.name = "capture_tools",
       .verb = {"capture", "--list"},
       .meaning = "The measuring tools of this node's daemon, and their options",
       .brief = {.most_items = kAllNames, .leave_out = {"outputs"}}},
      {.name = "show",
       .verb = {"show"},
       .meaning = "One run: state, error, metrics, trust, verdict, artifacts, how it was asked for",
       .brief = {.leave_out = {"environment"}},
       .params = {run, rows}},
      {.name = "report",
       .verb = {"report"},
       .meaning = "The report of a run: what bounds its kernels, what to try, what changed against a baseline",
       .params = {run,
                  {"baseline", Kind::kText, "--baseline", false,
                   "Compare with this run (default: the one that it was captured with)"},
                  {"policy", Kind::kText, "--policy", false, "What judges kernels, as in the analysis roofline"},
                  {"format", Kind::kText, "--format", false, "json (default), or md: a page for people"},
                  rows}},
      {.name = "compare",
       .verb = {"compare"},
       .meaning = "Compare stored runs with a baseline: verdict, ratio and its interval, reasons, which kernels "
                  "changed. Single traces are INCONCLUSIVE: to decide, capture event with `against`",
       .params = {{"run", Kind::kTexts, "", true, "The run, or several of the same"},
                  {"baseline", Kind::kTexts, "--baseline", true, "The run to compare with, or several of the same"},
                  {"options", Kind::kToolOptions, "", false, "Further options of the analysis compare, by name"},
                  rows}},
      {.name = "analyze",
       .verb = {"analyze"},
       .meaning = "Ask a question about runs' traces: summary, kernel-breakdown, roofline, findings, idle-breakdown, "
                  "samples, rounds and others: see analyses",
       .params = {kind,
                  {"runs", Kind::kTexts, "", true, "One run, or several"},
                  {"options", Kind::kToolOptions, "", false, "The analysis' own options by name: see analysis_help"},
                  rows}},
      {.name = "analyses",
       .verb = {"analyze", "--list"},
       .meaning = "The analyses there are, each with its question",
       .brief = {.most_items = kAllNames, .leave_out = {"version", "options", "facts", "tables"}}},
      {.name = "analysis_help",
       .verb = {"analyze", "--list"},
       .meaning = "The options of one analysis, and what its columns mean",
       .brief = {.most_items = kAllNames},
       .params = {kind}},
      {.name = "query",
       .verb = {"query"},
       .meaning = "Read-only SQL over the catalog (run, session, artifact, label, metric) and, with `runs`, over their "
                  "traces (slice, instant, counter, flow, track, trace)",
       .params = {{"sql", Kind::kText, "", true, "One statement of SQLite's. Sum and sort in it, and name its columns"},
                  {"runs", Kind::kTexts, "--run", false, "Runs whose traces are asked, too"},
                  {"timeout_s", Kind::kSeconds, "--timeout", false, "Give up after this long (default: 30)"},
                  rows}},
      {.name = "session_open",
       .verb = {"session", "open"},
       .meaning = "Wait for devices and keep them for a series of captures, its rounds: nobody else measures between "
                  "them. Close it when you are done",
       .only_reads = false,
       .params = {{"device", Kind::kText, "--device", false, "As of capture"},
                  {"clocks", Kind::kText, "--clocks", false, "none, base, lock or lock=MHZ (default: none)"},
                  {"ttl_s", Kind::kSeconds, "--ttl", false, "It ends after this long (default: 3600)"},
                  {"idle_timeout_s", Kind::kSeconds, "--idle-timeout", false,
                   "It ends when it has no run for this long (default: 600)"},
                  {"queue_timeout_s", Kind::kSeconds, "--queue-timeout", false, "Give up when it has waited this long"},
                  {"labels", Kind::kPairs, "--label", false, "Notes by which it is found"}}},
      {.name = "session_show",
       .verb = {"session", "show"},
       .meaning = "A session and its rounds, as far as it went",
       .params = {session, rows}},
      {.name = "session_close",
       .verb = {"session", "close"},
       .meaning = "End a session: its runs end, and its devices are given back",
       .only_reads = false,
       .params = {session}},
      {.name = "runs",
       .verb = {"runs"},
       .meaning = "Runs, the newest first",
       .brief = BriefOfRuns(),
       .params = {{"labels", Kind::kPairs, "--label", false, "Those with all of these labels"},
                  {"tool", Kind::kTexts, "--tool", false, "Those of these tools"},
                  {"state", Kind::kTexts, "--state", false,
                   "Those in these states: queued, preparing, running, collecting, done, failed, cancelled"},
                  {"limit", Kind::kRows, "--limit", false, "At most this many (default: 20)"}}},
      {.name = "status",
       .verb = {"status"},
       .meaning = "The daemon: version, devices and who holds them, queue, storage"}};
}

Status BadArgument(const std::string& why, std::string remedy = "see the tool's schema") {
  return Fail(ErrorCode::kUsage, "read the arguments", why, std::move(remedy));
}

void WriteSchemaOf(JsonWriter& json, const McpParam& param) {
  const auto texts = [&json] {
    json.Key("type").String("array").Key("items").BeginObject().Key("type").String("string");
  };
  json.Key(param.name).BeginObject();
  switch (param.kind) {
    case Kind::kText:
      json.Key("type").String("string");
      break;
    case Kind::kTexts:
    case Kind::kCommand:
      json.Key("anyOf").BeginArray().BeginObject().Key("type").String("string").EndObject().BeginObject();
      texts();
      json.EndObject().EndObject().EndArray();
      break;
    case Kind::kRows:
      json.Key("type").String("integer").Key("minimum").Int(1);
      break;
    case Kind::kSeconds:
      json.Key("type").String("number").Key("exclusiveMinimum").Int(0);
      break;
    case Kind::kSwitch:
      json.Key("type").String("boolean");
      break;
    case Kind::kPairs:
      json.Key("type").String("object").Key("additionalProperties").BeginObject().Key("type").String("string");
      json.EndObject();
      break;
    case Kind::kObject:
    case Kind::kToolOptions:
      json.Key("type").String("object");
      break;
  }
  json.Key("description").String(param.meaning).EndObject();
}

// Adds the words of arguments, in the order of the tool's list.
class CallWords {
 public:
  explicit CallWords(McpCommand& command) : command_(command) {}

  Status Add(const McpParam& param, const GivenJson& value) {
    switch (param.kind) {
      case Kind::kText:
      case Kind::kTexts:
        return AddTexts(param, value);
      case Kind::kRows:
        return AddRows(param, value);
      case Kind::kSeconds:
        return AddSeconds(param, value);
      case Kind::kSwitch:
        if (value.kind != GivenJson::Kind::kBool) return WrongKind(param, "true or false");
        if (value.text == "true") command_.words.emplace_back(param.option);
        return OkStatus();
      case Kind::kPairs:
        return AddPairs(param, value);
      case Kind::kObject:
        if (value.kind != GivenJson::Kind::kObject) return WrongKind(param, "an object");
        return AddWord(param, JsonOf(value));
      case Kind::kToolOptions:
        return AddToolOptions(param, value);
      case Kind::kCommand:
        return TakeCommand(param, value);
    }
    return OkStatus();
  }

  // Behind all others.
  void AddCommand() {
    if (behind_.empty()) return;
    command_.words.emplace_back("--");
    command_.words.insert(command_.words.end(), behind_.begin(), behind_.end());
  }

 private:
  static Status WrongKind(const McpParam& param, const std::string& wanted) {
    return BadArgument("'" + std::string(param.name) + "' is not " + wanted);
  }

  static Status CheckWord(std::string_view name, const std::string& word) {
    const std::string quoted = "'" + ReadableText(name) + "'";
    if (word.find('\0') != std::string::npos) return BadArgument(quoted + " has a NUL in it", "leave it out");
    if (word.size() <= kMostWordBytes) return OkStatus();
    return BadArgument(quoted + " has " + std::to_string(word.size()) + " bytes, and " +
                           std::to_string(kMostWordBytes) + " is the most",
                       "put it into a file");
  }

  Status AddWord(const McpParam& param, const std::string& word) {
    RETURN_IF_ERROR(CheckWord(param.name, word));
    if (!param.option.empty()) {
      command_.words.push_back(std::string(param.option) + "=" + word);
      return OkStatus();
    }
    if (word.empty()) return BadArgument("'" + std::string(param.name) + "' is empty");
    // SQL may begin with a comment, and is no file's name.
    const bool is_sql = param.name == "sql";
    if (word.front() == '-' && !is_sql) {
      return BadArgument("'" + std::string(param.name) + "' begins with a dash", "options have names of their own");
    }
    command_.words.push_back((is_sql ? " " : "") + word);
    return OkStatus();
  }

  Status AddTexts(const McpParam& param, const GivenJson& value) {
    if (value.kind == GivenJson::Kind::kText) return AddWord(param, value.text);
    if (param.kind == Kind::kText) return WrongKind(param, "a text");
    if (value.kind != GivenJson::Kind::kList || value.items.empty())
      return WrongKind(param, "a text or a list of texts");
    for (const GivenJson& item : value.items) {
      if (item.kind != GivenJson::Kind::kText) return WrongKind(param, "a text or a list of texts");
      RETURN_IF_ERROR(AddWord(param, item.text));
    }
    return OkStatus();
  }

  Status AddRows(const McpParam& param, const GivenJson& value) {
    size_t rows = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [read_to, error] = std::from_chars(value.text.data(), end, rows);
    const bool is_number = value.kind == GivenJson::Kind::kNumber && error == std::errc() && read_to == end;
    if (!is_number || rows < 1 || rows > kMostRows) {
      return WrongKind(param, "a whole number from 1 to " + std::to_string(kMostRows));
    }
    command_.brief.most_items = rows;
    return param.option.empty() ? OkStatus() : AddWord(param, std::to_string(rows));
  }

  Status AddSeconds(const McpParam& param, const GivenJson& value) {
    double seconds = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [read_to, error] = std::from_chars(value.text.data(), end, seconds);
    const bool is_number = value.kind == GivenJson::Kind::kNumber && error == std::errc() && read_to == end;
    if (!is_number || !(seconds > 0) || seconds > 1e9) return WrongKind(param, "a number of seconds over 0");
    return AddWord(param, std::to_string(std::max<int64_t>(1, std::llround(seconds * 1e3))) + "ms");
  }

  // Text of a member: of a text that itself, of anything else its JSON.
  static std::string MemberText(const GivenJson& value) {
    return value.kind == GivenJson::Kind::kText ? value.text : JsonOf(value);
  }

  Status AddPairs(const McpParam& param, const GivenJson& value) {
    if (value.kind != GivenJson::Kind::kObject) return WrongKind(param, "an object");
    for (size_t i = 0; i < value.names.size(); ++i) {
      RETURN_IF_ERROR(AddWord(param, value.names[i] + "=" + MemberText(value.items[i])));
    }
    return OkStatus();
  }

  Status AddToolOptions(const McpParam& param, const GivenJson& value) {
    if (value.kind != GivenJson::Kind::kObject) return WrongKind(param, "an object");
    for (size_t i = 0; i < value.names.size(); ++i) {
      std::string name = value.names[i];
      const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      });
      if (!is_name || name.front() == '-') return BadArgument("'" + ReadableText(name) + "' names no option");
      if (value.items[i].kind == GivenJson::Kind::kNull) continue;
      std::replace(name.begin(), name.end(), '_', '-');
      const std::string word = "--" + name + "=" + MemberText(value.items[i]);
      RETURN_IF_ERROR(CheckWord(name, word));
      command_.words.push_back(word);
    }
    return OkStatus();
  }

  Status TakeCommand(const McpParam& param, const GivenJson& value) {
    if (value.kind == GivenJson::Kind::kText && !value.text.empty()) {
      behind_ = {"sh", "-c", value.text};
    } else if (value.kind == GivenJson::Kind::kList) {
      for (const GivenJson& item : value.items) {
        if (item.kind != GivenJson::Kind::kText) return WrongKind(param, "a list of texts");
        behind_.push_back(item.text);
      }
    } else {
      return WrongKind(param, "a line or a list of words");
    }
    for (const std::string& word : behind_) RETURN_IF_ERROR(CheckWord(param.name, word));
    return OkStatus();
  }

  McpCommand& command_;
  std::vector<std::string> behind_;
};

}  // namespace

const std::vector<McpTool>& McpTools() {
  static const std::vector<McpTool> kTools = MakeTools();
  return kTools;
}

Result<const McpTool*> FindMcpTool(std::string_view name) {
  std::vector<std::string> names;
  std::string all;
  for (const McpTool& tool : McpTools()) {
    if (tool.name == name) return &tool;
    names.emplace_back(tool.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  return Fail(ErrorCode::kUsage, "call a tool", "there is no tool '" + ReadableText(name) + "'",
              WithSuggestion(name, names, "use one of: " + all));
}

void WriteMcpTools(JsonWriter& json) {
  json.BeginObject().Key("tools").BeginArray();
  for (const McpTool& tool : McpTools()) {
    json.BeginObject().Key("name").String(tool.name).Key("description").String(tool.meaning);
    json.Key("inputSchema").BeginObject().Key("type").String("object").Key("properties").BeginObject();
    for (const McpParam& param : tool.params) WriteSchemaOf(json, param);
    json.EndObject().Key("required").BeginArray();
    for (const McpParam& param : tool.params) {
      if (param.is_required) json.String(param.name);
    }
    json.EndArray().Key("additionalProperties").Bool(false).EndObject();
    json.Key("annotations").BeginObject().Key("readOnlyHint").Bool(tool.only_reads);
    // A command does what its caller has it do; a session takes nothing away.
    json.Key("destructiveHint").Bool(tool.runs_command).Key("openWorldHint").Bool(false).EndObject().EndObject();
  }
  json.EndArray().EndObject();
}

Result<McpCommand> CommandOfCall(const McpTool& tool, const GivenJson& arguments) {
  if (arguments.kind != GivenJson::Kind::kObject && arguments.kind != GivenJson::Kind::kNull) {
    return BadArgument("the arguments are no object");
  }
  std::vector<std::string> names;
  for (const McpParam& param : tool.params) names.emplace_back(param.name);
  for (const std::string& name : arguments.names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return BadArgument("there is no argument '" + ReadableText(name) + "'",
                       WithSuggestion(name, names, "see the schema of " + std::string(tool.name)));
  }
  McpCommand command;
  command.words.assign(tool.verb.begin(), tool.verb.end());
  command.brief = tool.brief;
  CallWords words(command);
  for (const McpParam& param : tool.params) {
    const GivenJson* value = arguments.Find(param.name);
    const bool is_there = value != nullptr && value->kind != GivenJson::Kind::kNull;
    if (is_there) {
      RETURN_IF_ERROR(words.Add(param, *value));
    } else if (param.is_required) {
      return BadArgument("'" + std::string(param.name) + "' is missing", std::string(param.meaning));
    }
  }
  words.AddCommand();
  return command;
}

}  // namespace kprof::cli
