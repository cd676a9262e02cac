#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/cli/find_daemon.h"
#include "client/cli/grammar/verb_set.h"
#include "client/cli/local_file.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/nearest_name.h"
#include "client/cli/text/table.h"
#include "client/cli/verbs/foreground_launch.h"
#include "client/cli/verbs/measured_subject.h"
#include "client/cli/verbs/recorder_place.h"
#include "client/cli/verbs/run_summary.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/markdown_summary.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/follow_run.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cpp/side_socket_client.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"

namespace kprof::cli {
namespace {

const char* TypeName(v1::Tool::Option::Type type) {
  switch (type) {
    case v1::Tool::Option::TYPE_INTEGER:
      return "integer";
    case v1::Tool::Option::TYPE_NUMBER:
      return "number";
    case v1::Tool::Option::TYPE_SWITCH:
      return "switch";
    case v1::Tool::Option::TYPE_DURATION:
      return "duration";
    case v1::Tool::Option::TYPE_JSON:
      return "json";
    default:
      return "text";
  }
}

const v1::Tool* FindTool(const v1::ListToolsResponse& tools, const std::string& name) {
  for (const v1::Tool& tool : tools.tools()) {
    if (tool.name() == name) return &tool;
  }
  return nullptr;
}

const v1::Tool::Option* FindOption(const v1::Tool& tool, const std::string& name) {
  for (const v1::Tool::Option& option : tool.options()) {
    if (option.name() == name) return &option;
  }
  return nullptr;
}

// Its value is a word without a name; null where the tool has none.
const v1::Tool::Option* PositionalOf(const v1::Tool& tool) {
  for (const v1::Tool::Option& option : tool.options()) {
    if (option.positional()) return &option;
  }
  return nullptr;
}

void WriteTool(JsonWriter& json, const v1::Tool& tool) {
  json.BeginObject().Key("name").String(tool.name()).Key("summary").String(tool.summary());
  json.Key("clocks").String(tool.clocks()).Key("exclusive").Bool(tool.exclusive());
  json.Key("options").BeginArray();
  for (const v1::Tool::Option& option : tool.options()) {
    json.BeginObject().Key("name").String(option.name()).Key("type").String(TypeName(option.type()));
    json.Key("default").StringOrNull(option.default_value()).Key("meaning").String(option.meaning());
    json.Key("positional").Bool(option.positional()).EndObject();
  }
  json.EndArray().Key("outputs").BeginArray();
  for (const v1::Tool::Output& output : tool.outputs()) {
    json.BeginObject().Key("glob").String(output.glob()).Key("reader").StringOrNull(output.reader());
    json.Key("required").Bool(output.required()).EndObject();
  }
  json.EndArray().EndObject();
}

Status NoSuchTool(const v1::ListToolsResponse& tools, const std::string& tool) {
  std::vector<std::string> names;
  std::string all;
  for (const v1::Tool& one : tools.tools()) {
    names.push_back(one.name());
    all += (all.empty() ? "" : ", ") + one.name();
  }
  return Usage("there is no tool '" + ReadableText(tool) + "'", WithSuggestion(tool, names, "use one of: " + all));
}

// Reads the options of a tool from the words typed: --name VALUE, --name=VALUE or --name. The daemon's list of tools
// tells which there are: kprofctl knows none by itself, so it offers those of a newer daemon, too. Fails with kUsage
// for a tool or an option that the daemon has not; the daemon checks the values.
Result<std::vector<v1::ToolOption>> ReadToolWords(const v1::ListToolsResponse& tools, const std::string& tool,
                                                  const std::vector<std::string>& words) {
  const v1::Tool* found = FindTool(tools, tool);
  if (found == nullptr) return NoSuchTool(tools, tool);
  std::vector<v1::ToolOption> options;
  for (size_t i = 0; i < words.size(); ++i) {
    if (const v1::Tool::Option* positional = PositionalOf(*found); positional != nullptr && words[i][0] != '-') {
      v1::ToolOption& option = options.emplace_back();
      option.set_name(positional->name());
      option.set_value(words[i]);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string spelling = words[i].substr(0, equals);
    const v1::Tool::Option* known = spelling.starts_with("--") ? FindOption(*found, spelling.substr(2)) : nullptr;
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const v1::Tool::Option& option : found->options()) names.push_back("--" + option.name());
      if (spelling.starts_with("--clock")) {
        return Usage("'" + ReadableText(spelling) + "' is no option of the tool " + tool,
                     "clocks are kprofd's: give --clocks MODE");
      }
      return Usage(
          "'" + ReadableText(spelling) + "' is no option of the tool " + tool,
          WithSuggestion(spelling, names, "see 'kprofctl help capture " + tool + "'; the command follows after --"));
    }
    v1::ToolOption& option = options.emplace_back();
    option.set_name(known->name());
    if (equals != std::string::npos) {
      option.set_value(words[i].substr(equals + 1));
    } else if (known->type() == v1::Tool::Option::TYPE_SWITCH) {
      option.set_value("true");
    } else if (i + 1 < words.size()) {
      option.set_value(words[++i]);
    } else {
      return Usage(spelling + " has no value", "write it like " + spelling + " VALUE");
    }
    if (known->type() == v1::Tool::Option::TYPE_JSON) {
      ASSIGN_OR_RETURN(const std::string json, ReadJsonWord(option.value(), spelling));
      option.set_value(json);
    }
  }
  return options;
}

// A table, or JSON.
Status PrintTools(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListToolsResponse tools, client->ListTools());
  if (context.global.json) {
    context.output.Write(JsonLine("kprof.tools.v1", [&](JsonWriter& json) {
      json.Key("tools").BeginArray();
      for (const v1::Tool& tool : tools.tools()) WriteTool(json, tool);
      json.EndArray();
    }));
    return OkStatus();
  }
  Table table({{"TOOL"}, {"OPTION"}, {"TYPE"}, {"DEFAULT"}, {"MEANING"}}, context.output);
  for (const v1::Tool& tool : tools.tools()) {
    table.AddRow({tool.name(), "", "", "", tool.summary()});
    for (const v1::Tool::Option& option : tool.options()) {
      table.AddRow({"", "--" + option.name(), TypeName(option.type()), option.default_value(), option.meaning()});
    }
  }
  table.Finish();
  return OkStatus();
}

void PrintToolHelp(const v1::Tool& tool, Output& output) {
  output.Write("\nTool " + TerminalText(tool.name()) + ": " + TerminalText(tool.summary()) + "\n");
  for (const v1::Tool::Option& option : tool.options()) {
    const bool is_switch = option.type() == v1::Tool::Option::TYPE_SWITCH;
    std::string line = "  --" + TerminalText(option.name()) + (is_switch ? "" : " VALUE");
    if (option.positional()) line += " or VALUE";
    line.resize(std::max<size_t>(line.size() + 1, 30), ' ');
    line += TerminalText(option.meaning());
    if (!option.default_value().empty()) line += " (default: " + TerminalText(option.default_value()) + ")";
    output.Write(line + "\n");
  }
}

constexpr int64_t kCommandTailBytes = 8192;
constexpr size_t kTailLines = 10;

Result<CallerFacts> FactsFor(const CaptureArgs& args, bool on_another_node) {
  CallerFacts caller = ReadCallerFacts();
  if (on_another_node) return FactsForNode(args.env, args.cwd, caller);
  RETURN_IF_ERROR(ApplyEnvironment(args.env, caller.environment));
  ASSIGN_OR_RETURN(caller.cwd, ResolveCwd(args.cwd, caller));
  return caller;
}

// Needs a process without threads (see foreground_launch.h).
Result<v1::SubmitRunRequest> RequestOf(const CaptureArgs& args, bool on_another_node) {
  ASSIGN_OR_RETURN(CallerFacts caller, FactsFor(args, on_another_node));
  v1::SubmitRunRequest request;
  request.set_idempotency_key(RandomName());  // of this one wish, however often it has to be sent
  v1::RunSpec& spec = *request.mutable_spec();
  spec.set_tool(args.tool);
  for (const std::string& word : args.command) spec.add_argv(word);
  spec.set_cwd(caller.cwd);
  // `python3 -m kprof.neuron` finds the package as rank-exec does.
  const std::string recorder = !on_another_node && RunsPackageKprof(args.command) ? RecorderBesideUs() : "";
  if (!recorder.empty()) {
    std::string& places = caller.environment["PYTHONPATH"];
    places = PythonPathWithPackage(places, recorder);
  }
  for (const auto& [name, value] : caller.environment) {
    v1::EnvironmentVariable& variable = *spec.add_environment();
    variable.set_name(name);
    variable.set_value(value);
  }
  spec.set_umask(caller.umask);
  for (v1::ResourceLimit& limit : caller.limits) *spec.add_limits() = limit;
  spec.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  spec.set_device(args.device);
  spec.set_timeout_ms(args.timeout_ms);
  spec.set_queue_timeout_ms(args.queue_timeout_ms);
  spec.set_shared(args.shared);
  spec.set_attached(!args.detach);
  spec.set_session_id(args.session);
  spec.set_priority(static_cast<int32_t>(args.priority));
  spec.set_clocks(args.clocks);
  spec.set_cool_down_ms(args.cool_down_ms);
  spec.set_exclusive(args.exclusive);
  for (const std::string& glob : args.collect) spec.add_collect(glob);
  spec.set_prepare(args.prepare);
  spec.set_check(args.check);
  return request;
}

// Asks the daemon for its tools, unless it is the one that every daemon has. By now threads are no matter.
Status AddToolOptions(const CaptureArgs& args, const VerbContext& context, v1::RunSpec& spec) {
  RETURN_IF_ERROR(AddMeasuredSubject(args, context, spec));
  if (args.tool_words.empty() && args.tool == "command") return OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListToolsResponse tools, client->ListTools());
  ASSIGN_OR_RETURN(const std::vector<v1::ToolOption> options, ReadToolWords(tools, args.tool, args.tool_words));
  for (const v1::ToolOption& option : options) *spec.add_options() = option;
  return OkStatus();
}

// A daemon that is being restarted is back soon. Fails with kCancelled on a signal; `interrupts` may be absent.
Result<std::unique_ptr<KprofClient>> ConnectAgain(const VerbContext& context, const Interrupts* interrupts) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point give_up = Clock::now() + std::chrono::milliseconds(context.reconnect_ms);
  while (true) {
    if (interrupts != nullptr && interrupts->first() != 0) {
      // Asking again could only start what nobody wants any more.
      return Fail(ErrorCode::kCancelled, "submit a run",
                  "interrupted while kprofd was away; a run that it had accepted ends by itself");
    }
    Result<std::unique_ptr<KprofClient>> client = context.connect();
    if (client.ok() || client.status().code() != ErrorCode::kNoDaemon || Clock::now() >= give_up) return client;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Once more when the connection broke: the daemon may or may not have heard us, and the key makes both come out right.
// After a signal nothing is sent; but what was sent is waited for, so that the run can be cancelled by its id.
Result<v1::Run> Submit(const v1::SubmitRunRequest& request, const VerbContext& context, const Interrupts* interrupts,
                       const std::function<void()>& before_again = {}) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  if (interrupts != nullptr && interrupts->first() != 0) {
    return Fail(ErrorCode::kCancelled, "submit a run", "interrupted before anything was submitted");
  }
  Result<v1::Run> run = client->SubmitRun(request);
  if (run.ok() || run.status().code() != ErrorCode::kNoDaemon) return run;
  ASSIGN_OR_RETURN(client, ConnectAgain(context, interrupts));
  if (before_again) before_again();
  return client->SubmitRun(request);
}

// A daemon that serves many users does not start what runs in the foreground: we do.
// `direct`: opened for its output; null: nobody wants that.
Status StartHere(const std::string& run_id, const std::string& digest, DirectOutput* direct,
                 const VerbContext& context) {
  ASSIGN_OR_RETURN(const std::string program, FindSupervisor(OwnFolder(), GetProcessVariable("KPROF_LAUNCH")));
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(UniqueFd channel, TakeLaunch(client->socket_path(), run_id));
  SupervisorEnds output;
  if (direct != nullptr) {
    ASSIGN_OR_RETURN(output, direct->Open());
  }
  return StartSupervisor(program, {run_id, digest, std::move(channel), std::move(output)});
}

// A daemon of one's own starts the supervisor itself, and gives it what we hand over. Where that does not go, the
// output comes out of the run's logs, or `direct` is opened when we start the supervisor.
void HandOverOutput(DirectOutput& direct, const std::string& idempotency_key, const VerbContext& context) {
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  if (!client.ok()) return;  // Submit says why
  Result<SupervisorEnds> ends = direct.Open();
  if (!ends.ok()) return;
  const Status given =
      HandOverOutputSockets((*client)->socket_path(), idempotency_key, ends->out.get(), ends->err.get());
  if (!given.ok()) direct.Close();
}

// The run as it ended.
Result<v1::Run> CaptureInForeground(const CaptureArgs& args, const VerbContext& context) {
  // First of all: from here on a signal cancels, and before it there is nothing to cancel. Over with the run: what then
  // remains is to print, and Ctrl-C ends that as it ends any program.
  Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  ASSIGN_OR_RETURN(v1::SubmitRunRequest request, RequestOf(args, context.on_another_node));
  RETURN_IF_ERROR(AddToolOptions(args, context, *request.mutable_spec()));
  const bool is_shown_directly = !args.quiet && !context.on_another_node;
  DirectOutput direct;
  auto hand_over = [&] {
    if (is_shown_directly) HandOverOutput(direct, request.idempotency_key(), context);
  };
  hand_over();
  ASSIGN_OR_RETURN(v1::Run submitted, Submit(request, context, &interrupts, hand_over));
  FollowOptions options = {.hold = true, .interrupt_cancels = true, .reconnect_ms = context.reconnect_ms};
  options.prints_while_queued = !args.prepare.empty();
  if (!args.quiet) options.pass_output = context.global.json ? PassOutput::kToNotes : PassOutput::kToItsPlace;
  if (!context.on_another_node) {
    if (is_shown_directly) options.direct = &direct;
    options.launch = [&, digest = DigestOf(request.spec())] {
      return StartHere(submitted.id(), digest, options.direct, context);
    };
  }
  return FollowRun(context.connect, submitted.id(), options, interrupts, context.output);
}

// The last lines of what it wrote to standard error, as notes.
void NoteErrorOutput(const v1::Run& run, const VerbContext& context) {
  int64_t kept_bytes = run.stderr_bytes() - run.stderr_dropped_bytes();
  if (kept_bytes <= 0) return;
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  if (!client.ok()) return;
  v1::ReadLogRequest request;
  request.set_id(run.id());
  request.set_stream(v1::OUTPUT_STREAM_STDERR);
  request.set_offset_bytes(std::max<int64_t>(0, kept_bytes - kCommandTailBytes));
  std::string tail;
  Status read = (*client)->ReadLog(request, [&](const v1::ReadLogResponse& response) {
    tail += response.data();
    if (tail.size() > 2 * kCommandTailBytes) tail.erase(0, tail.size() - kCommandTailBytes);
    return OkStatus();
  });
  if (!read.ok() || tail.empty()) return;
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  size_t begin = tail.size();
  for (size_t lines = 0; lines < kTailLines && begin != std::string::npos && begin > 0; ++lines) {
    begin = tail.rfind('\n', begin - 1);
  }
  begin = begin == std::string::npos ? 0 : begin + 1;
  context.output.Note("the end of its standard error (all of it: kprofctl logs " + run.id() + " --stderr):");
  while (begin <= tail.size()) {
    size_t end = std::min(tail.find('\n', begin), tail.size());
    context.output.NoteQuoted(std::string_view(tail).substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

Status RunVerb(const HelpOfToolArgs& args, const VerbContext& context) {
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  const v1::Tool* tool = nullptr;
  v1::ListToolsResponse tools;
  if (client.ok()) {
    ASSIGN_OR_RETURN(tools, (*client)->ListTools());
    tool = FindTool(tools, args.tool);
    if (tool == nullptr) return NoSuchTool(tools, args.tool);
  }
  context.output.Write(args.text);
  if (tool != nullptr) PrintToolHelp(*tool, context.output);
  return OkStatus();
}

namespace {

// Fails with kVerdict for a verdict that `fail_on` names; a run without a verdict is inconclusive.
Status CheckRunVerdict(const v1::Run& run, FailOn fail_on) {
  if (fail_on == FailOn::kNothing) return OkStatus();
  const std::string verdict = run.has_verdict() ? run.verdict().name() : "INCONCLUSIVE";
  const bool fails = verdict == "SLOWER" || (fail_on == FailOn::kInconclusive && verdict == "INCONCLUSIVE");
  if (!fails) return OkStatus();
  return Fail(ErrorCode::kVerdict, "run " + run.id(), "the verdict is " + verdict,
              "see its reasons: kprofctl analyze samples " + run.id());
}

Status Capture(const CaptureArgs& args, const VerbContext& context, int* exit_status) {
  if (args.list) return PrintTools(context);
  if (args.detach) {
    ASSIGN_OR_RETURN(v1::SubmitRunRequest request, RequestOf(args, context.on_another_node));
    RETURN_IF_ERROR(AddToolOptions(args, context, *request.mutable_spec()));
    ASSIGN_OR_RETURN(v1::Run submitted, Submit(request, context, nullptr));
    context.output.Write(context.global.json ? RunJsonLine(submitted) : submitted.id() + "\n");
    return OkStatus();
  }
  ASSIGN_OR_RETURN(v1::Run run, CaptureInForeground(args, context));
  if (exit_status != nullptr && ErrorCodeByName(run.error().code()) == ErrorCode::kCommandFailed) {
    if (run.has_exit_code()) *exit_status = run.exit_code();
    if (run.has_signal()) *exit_status = 128 + run.signal();
  }
  Output& output = context.output;
  if (context.global.json) {
    output.Write(RunJsonLine(run));
  } else if (args.quiet) {
    output.Write(ShortReport(run, output.result_has_colours()));
    if (args.quiet_summary) {
      output.Write(SummaryOfRun(run, {output.ResultWidth(), output.result_has_colours()}, context));
    }
  } else {
    // Standard output is the command's.
    output.WriteToTerminal(ShortReport(run, output.note_has_colours()));
    output.WriteToTerminal(SummaryOfRun(run, {output.NoteWidth(), output.note_has_colours()}, context));
  }
  (void)output.Flush();
  if (run.state() == v1::RUN_STATE_FAILED && args.quiet && !context.global.json) NoteErrorOutput(run, context);
  const Status told = args.markdown.empty() ? OkStatus() : AppendToFile(args.markdown, MarkdownOf(run));
  RETURN_IF_ERROR(OutcomeOf(run));
  RETURN_IF_ERROR(told);
  return CheckRunVerdict(run, args.fail_on);
}

}  // namespace

Status RunVerb(const CaptureArgs& args, const VerbContext& context) {
  return Capture(args, context, nullptr);
}

Status CaptureAsCommand(const CaptureArgs& args, const VerbContext& context, int& exit_status) {
  return Capture(args, context, &exit_status);
}

}  // namespace kprof::cli
