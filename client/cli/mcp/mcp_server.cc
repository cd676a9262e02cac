#include "client/cli/mcp/mcp_server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "client/cli/mcp/mcp_prompts.h"
#include "client/cli/mcp/mcp_resources.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cpp/kprof_client.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

// Newest first: the answer to a client that asks for one that is not known.
constexpr std::string_view kRevisions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

constexpr int kTickMs = 500;  // while there are calls
constexpr int64_t kProgressSeconds = 5;
constexpr size_t kMostTailBytes = 2000;       // of a command's output, in a result
constexpr size_t kMostPageBytes = 16'000;     // of a result that is no JSON
constexpr size_t kMostListBytes = 8'000'000;  // of the runs whose artifacts are listed
constexpr std::string_view kErrorBegin = "{\"schema\":\"kprof.error.v1\"";

template <typename Write>
std::string MadeJson(const Write& write) {
  std::string text;
  JsonWriter json(text);
  write(json);
  return text;
}

// A text in an object, empty where there is none.
std::string TextOf(const GivenJson& object, std::string_view name) {
  const GivenJson* member = object.Find(name);
  return member != nullptr && member->kind == GivenJson::Kind::kText ? member->text : "";
}

// As kprofctl writes its notes: the error at their end, as JSON (empty: there is none), and what was said before it.
struct EndOfNotes {
  std::string error;
  std::string rest;
};

EndOfNotes ReadNotes(const std::string& notes) {
  size_t begin = notes.rfind(kErrorBegin);
  if (begin == std::string::npos || (begin > 0 && notes[begin - 1] != '\n')) return {"", notes};
  EndOfNotes end;
  end.error = notes.substr(begin, notes.find('\n', begin) - begin);
  // The line before says the same to people.
  begin = begin < 2 ? 0 : notes.rfind('\n', begin - 2) + 1;
  end.rest = notes.substr(0, begin);
  return end;
}

// The last of it, from the beginning of a line on where one begins soon.
std::string TailOf(const std::string& text) {
  if (text.size() <= kMostTailBytes) return text;
  size_t begin = text.size() - kMostTailBytes;
  const size_t line = text.find('\n', begin);
  if (line != std::string::npos && line < text.size() - kMostTailBytes / 2) begin = line + 1;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  return text.substr(begin);
}

std::string LastLineOf(const std::string& text) {
  const std::string lines = text.substr(0, text.find_last_not_of('\n') + 1);
  return lines.substr(lines.rfind('\n') + 1);
}

// The command line that prints all of it.
std::string WholeCommand(const std::vector<std::string>& words) {
  std::vector<std::string_view> all = {"kprofctl"};
  all.insert(all.end(), words.begin(), words.end());
  return CommandText(all);
}

// A failure of ours, or of kprofctl's: what it printed as its error.
std::string ErrorOf(const EndOfNotes& notes, int exit_status) {
  if (!notes.error.empty()) return notes.error;
  std::string line = ErrorJsonLine(
      Fail(ErrorCode::kInternal, "run kprofctl", "it ended with " + std::to_string(exit_status) + " and said nothing"));
  line.pop_back();
  return line;
}

// The answer of tools/call. `object`: JSON; empty: there is only the text.
std::string ToolAnswer(const std::string& object, const std::string& text, bool is_error) {
  return MadeJson([&](JsonWriter& json) {
    json.BeginObject().Key("content").BeginArray().BeginObject().Key("type").String("text").Key("text").String(text);
    json.EndObject().EndArray();
    if (!object.empty()) json.Key("structuredContent").Raw(object);
    json.Key("isError").Bool(is_error).EndObject();
  });
}

// Into the object, at its end.
void AddMember(std::string& object, std::string_view name, const std::string& value) {
  object.pop_back();
  object +=
      MadeJson([&](JsonWriter& json) { json.Key(name).Raw(value); }).insert(0, object.size() > 1 ? "," : "") + "}";
}

std::string Quoted(std::string_view text) {
  return MadeJson([&](JsonWriter& json) { json.String(text); });
}

}  // namespace

McpServer::McpServer(const GlobalOptions& global, Output& output, const Interrupts& interrupts)
    : global_(global), output_(output), interrupts_(interrupts) {}

void McpServer::Serve(int input) {
  RpcLines lines;
  bool has_ended = false;
  std::vector<pollfd> waits;
  while (true) {
    waits = {pollfd{has_ended ? -1 : input, POLLIN, 0}, pollfd{has_ended ? -1 : interrupts_.fd(), POLLIN, 0}};
    for (const std::unique_ptr<Call>& call : calls_) call->process->AddWaits(waits);
    ::poll(waits.data(), waits.size(), calls_.empty() ? -1 : kTickMs);
    bool ends_now = interrupts_.first() != 0 || output_.broken();
    if (!has_ended && !ends_now && waits[0].revents != 0) {
      char buffer[size_t{64} << 10];
      const ssize_t got = ::read(input, buffer, sizeof(buffer));
      if (got > 0) {
        lines.Add(std::string_view(buffer, static_cast<size_t>(got)));
        while (std::optional<RpcLine> line = lines.Next()) TakeLine(*line);
      }
      ends_now = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    }
    std::erase_if(calls_, [this](const std::unique_ptr<Call>& call) {
      if (call->process->Pass()) {
        Finish(*call);
        return true;
      }
      TellProgress(*call);
      return false;
    });
    (void)output_.Flush();
    if (ends_now && !std::exchange(has_ended, true)) {
      const bool nobody_waits = interrupts_.first() != 0 || output_.broken();
      for (const std::unique_ptr<Call>& call : calls_) {
        const bool only_reads = call->tool == nullptr || call->tool->only_reads;
        if (nobody_waits || !only_reads) call->process->Interrupt();
      }
    }
    if (has_ended && calls_.empty()) return;
  }
}

void McpServer::TakeLine(const RpcLine& line) {
  if (line.is_too_long) {
    return Refuse("null", 0, RpcError::kParse, "a line has over " + std::to_string(kMostRpcLineBytes) + " bytes");
  }
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
  const Result<GivenJson> json = ReadJson(line.text, "the message", kMostRpcLineBytes);
  if (!json.ok()) return Refuse("null", 0, RpcError::kParse, json.status().why());
  if (json->kind != GivenJson::Kind::kList) return TakeMessage(ReadRpcMessage(*json), 0);
  if (json->items.empty()) return Refuse("null", 0, RpcError::kInvalidRequest, "the batch is empty");
  // Of the revisions up to 2025-03-26. One more is awaited until all are read, so that it is sent once.
  const int64_t batch = ++last_batch_;
  ++batches_[batch].awaited;
  for (const GivenJson& item : json->items) {
    const RpcMessage message = ReadRpcMessage(item);
    if (!message.id.empty() && (!message.method.empty() || !message.fault.empty())) ++batches_[batch].awaited;
    TakeMessage(message, batch);
  }
  Send("", batch);
}

void McpServer::TakeMessage(const RpcMessage& message, int64_t batch) {
  if (!message.fault.empty()) return Refuse(message.id, batch, RpcError::kInvalidRequest, message.fault);
  if (message.method.empty()) return;
  if (!message.id.empty()) return TakeRequest(message, batch);
  if (message.method == "notifications/cancelled") Cancel(message.params);
}

void McpServer::TakeRequest(const RpcMessage& message, int64_t batch) {
  const std::string& method = message.method;
  const auto answer = [&](const auto& write) { Answer(message.id, batch, MadeJson(write)); };
  if (method == "initialize") return Initialize(message, batch);
  if (method == "ping") return Answer(message.id, batch, "{}");
  if (method == "tools/list") return answer([](JsonWriter& json) { WriteMcpTools(json); });
  if (method == "tools/call") return CallTool(message, batch);
  if (method == "prompts/list") return answer([](JsonWriter& json) { WriteMcpPrompts(json); });
  if (method == "prompts/get") {
    const GivenJson* arguments = message.params.Find("arguments");
    std::string prompt;
    JsonWriter json(prompt);
    const Status got = WriteMcpPrompt(json, TextOf(message.params, "name"), arguments ? *arguments : GivenJson());
    if (got.ok()) return Answer(message.id, batch, prompt);
    return Refuse(message.id, batch, RpcError::kInvalidParams, got.ToString());
  }
  if (method == "resources/list") return ListResources(message, batch);
  if (method == "resources/templates/list") return answer([](JsonWriter& json) { WriteMcpTemplates(json); });
  if (method == "resources/read") return ReadResource(message, batch);
  Refuse(message.id, batch, RpcError::kUnknownMethod, "there is no method '" + ClippedText(method, 200) + "'");
}

void McpServer::Initialize(const RpcMessage& message, int64_t batch) {
  const std::string wanted = TextOf(message.params, "protocolVersion");
  const bool is_known = std::find(std::begin(kRevisions), std::end(kRevisions), wanted) != std::end(kRevisions);
  Answer(message.id, batch, MadeJson([&](JsonWriter& json) {
           json.BeginObject().Key("protocolVersion").String(is_known ? std::string_view(wanted) : kRevisions[0]);
           json.Key("capabilities").BeginObject();
           for (const char* capability : {"tools", "prompts", "resources"}) {
             json.Key(capability).BeginObject().EndObject();
           }
           json.EndObject().Key("serverInfo").BeginObject().Key("name").String("kprof");
           json.Key("title").String("kprofd, the profiling daemon").Key("version").String(ClientVersion()).EndObject();
           json.Key("instructions").String(kMcpInstructions).EndObject();
         }));
}

void McpServer::Cancel(const GivenJson& params) {
  const GivenJson* id = params.Find("requestId");
  if (id == nullptr) return;
  for (const std::unique_ptr<Call>& call : calls_) {
    if (call->id != JsonOf(*id) || call->is_cancelled) continue;
    call->is_cancelled = true;
    if (!call->process->is_interrupted()) call->process->Interrupt();
  }
}

void McpServer::CallTool(const RpcMessage& message, int64_t batch) {
  const Result<const McpTool*> tool = FindMcpTool(TextOf(message.params, "name"));
  if (!tool.ok()) return Refuse(message.id, batch, RpcError::kInvalidParams, tool.status().ToString());
  const GivenJson* arguments = message.params.Find("arguments");
  const Result<McpCommand> command = CommandOfCall(**tool, arguments != nullptr ? *arguments : GivenJson());
  if (!command.ok()) {  // a result: a model reads it and tries again
    std::string error = ErrorJsonLine(command.status());
    error.pop_back();
    return Answer(message.id, batch, ToolAnswer(error, error, true));
  }
  auto call = std::make_unique<Call>();
  call->kind = CallKind::kTool;
  call->batch = batch;
  call->tool = *tool;
  call->brief = std::make_unique<BriefJson>(command->brief);
  Start(std::move(call), command->words, message);
}

void McpServer::ListResources(const RpcMessage& message, int64_t batch) {
  auto call = std::make_unique<Call>();
  call->kind = CallKind::kListResources;
  call->batch = batch;
  Start(std::move(call), WordsToListResources(), message);
}

void McpServer::ReadResource(const RpcMessage& message, int64_t batch) {
  const std::string uri = TextOf(message.params, "uri");
  Result<std::vector<std::string>> words = WordsToRead(uri);
  if (!words.ok()) return Refuse(message.id, batch, RpcError::kNoSuchResource, words.status().ToString());
  auto call = std::make_unique<Call>();
  call->kind = CallKind::kReadResource;
  call->batch = batch;
  call->uri = uri;
  Start(std::move(call), std::move(*words), message);
}

void McpServer::Start(std::unique_ptr<Call> call, std::vector<std::string> words, const RpcMessage& message) {
  const int64_t batch = call->batch;
  if (calls_.size() >= kMostCalls) {
    return Refuse(message.id, batch, RpcError::kInternal,
                  std::to_string(kMostCalls) + " calls are under way; wait for one of them, or cancel it");
  }
  const bool is_taken =
      std::any_of(calls_.begin(), calls_.end(), [&](const auto& other) { return other->id == message.id; });
  if (is_taken) return Refuse(message.id, batch, RpcError::kInvalidRequest, "a call of this id is under way");
  call->id = message.id;
  call->start = VerbProcess::Clock::now();
  if (const GivenJson* meta = message.params.Find("_meta")) {
    if (const GivenJson* token = meta->Find("progressToken")) call->progress_token = JsonOf(*token);
  }
  call->words = std::move(words);
  // Raw bytes of a file are no JSON; with --json the rest is.
  const bool is_raw = call->kind == CallKind::kReadResource;
  std::vector<std::string> all;
  if (!is_raw) all.emplace_back("--json");
  const std::pair<const char*, const std::string&> options[] = {{"--socket", global_.socket},
                                                                {"--node", global_.node},
                                                                {"--ca", global_.ca},
                                                                {"--cert", global_.cert},
                                                                {"--key", global_.key}};
  for (const auto& [name, value] : options) {
    if (!value.empty()) all.push_back(name + std::string("=") + value);
  }
  all.insert(all.end(), call->words.begin(), call->words.end());
  const size_t most_bytes = call->kind == CallKind::kTool           ? kMostPageBytes
                            : call->kind == CallKind::kReadResource ? kMostResourceBytes
                                                                    : kMostListBytes;
  auto take = [&results = *call, most_bytes](std::string_view bytes) {
    if (results.brief) results.brief->Add(bytes);
    const size_t room = most_bytes - results.bytes.size();
    results.bytes += bytes.substr(0, room);
    if (bytes.size() <= room) return;
    results.has_more_bytes = true;
    // Nobody gets the rest.
    const bool is_over = results.kind != CallKind::kTool && !results.process->is_interrupted();
    if (is_over) results.process->Interrupt();
  };
  Result<std::unique_ptr<VerbProcess>> process = VerbProcess::Start(all, std::move(take));
  if (!process.ok()) return Refuse(message.id, batch, RpcError::kInternal, process.status().ToString());
  call->process = std::move(*process);
  calls_.push_back(std::move(call));
}

void McpServer::Finish(const Call& call) {
  if (call.is_cancelled) return Send("", call.batch);
  if (call.kind == CallKind::kTool) return FinishTool(call);
  FinishResource(call);
}

void McpServer::FinishTool(const Call& call) {
  const EndOfNotes notes = ReadNotes(call.process->notes());
  const bool has_object = call.brief->is_whole_object();
  const bool is_error = call.process->exit_status() != 0;
  if (!is_error && !has_object) {  // a page
    std::string page = call.bytes.substr(0, WholeUtf8Size(call.bytes));
    if (call.has_more_bytes) page += "\n...\nAll of it: " + WholeCommand(call.words) + "\n";
    return Answer(call.id, call.batch, ToolAnswer("", ReadableText(page), false));
  }
  std::string object = is_error ? ErrorOf(notes, call.process->exit_status()) : call.brief->text();
  if (is_error && has_object) AddMember(object, "run", call.brief->text());
  if (!notes.rest.empty()) {
    AddMember(object, call.tool->runs_command ? "output_tail" : "said", Quoted(TailOf(notes.rest)));
  }
  // The run is there already; to capture it once more is not to see more of it.
  if (has_object && call.brief->has_left_out() && !call.tool->runs_command) {
    AddMember(object, "whole", Quoted(WholeCommand(call.words) + " --json"));
  }
  Answer(call.id, call.batch, ToolAnswer(object, object, is_error));
}

void McpServer::FinishResource(const Call& call) {
  if (call.has_more_bytes) {
    std::string whole = WholeCommand(call.words);
    if (whole.ends_with(" -")) whole.replace(whole.size() - 1, 1, "FILE");
    return Refuse(call.id, call.batch, RpcError::kInvalidParams,
                  "it has over " + std::to_string(call.bytes.size()) + " bytes; get it with " + whole);
  }
  if (call.process->exit_status() != 0) {
    // Without --json, for bytes: the line for people is all.
    const std::string& notes = call.process->notes();
    const EndOfNotes end = ReadNotes(notes);
    const std::string why = LastLineOf(end.error.empty() ? notes : end.rest);
    const bool is_missing = call.process->exit_status() == ExitStatusOf(ErrorCode::kNotFound);
    return Refuse(call.id, call.batch, is_missing ? RpcError::kNoSuchResource : RpcError::kInternal,
                  why.empty() ? "kprofctl said nothing" : why);
  }
  if (call.kind == CallKind::kReadResource) {
    return Answer(call.id, call.batch,
                  MadeJson([&](JsonWriter& json) { WriteMcpContents(json, call.uri, call.bytes); }));
  }
  const Result<GivenJson> runs = ReadJson(call.bytes, "the list of runs", kMostListBytes);
  if (!runs.ok()) return Refuse(call.id, call.batch, RpcError::kInternal, runs.status().ToString());
  Answer(call.id, call.batch, MadeJson([&](JsonWriter& json) { WriteMcpResources(json, *runs); }));
}

void McpServer::TellProgress(Call& call) {
  if (call.progress_token.empty() || call.is_cancelled) return;
  const int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(VerbProcess::Clock::now() - call.start).count();
  if (seconds < call.told_seconds + kProgressSeconds) return;
  call.told_seconds = seconds;
  output_.Write(RpcNotification("notifications/progress", MadeJson([&](JsonWriter& json) {
                                  json.BeginObject().Key("progressToken").Raw(call.progress_token);
                                  json.Key("progress").Int(seconds);
                                  const std::string last = LastLineOf(call.process->notes());
                                  if (!last.empty()) json.Key("message").String(ClippedText(last, 200));
                                  json.EndObject();
                                })));
}

void McpServer::Send(const std::string& line, int64_t batch) {
  if (batch == 0) return output_.Write(line);
  Batch& sent_together = batches_[batch];
  if (!line.empty()) {
    sent_together.answers += (sent_together.answers.empty() ? "" : ",") + line.substr(0, line.size() - 1);
  }
  if (--sent_together.awaited > 0) return;
  if (!sent_together.answers.empty()) output_.Write("[" + sent_together.answers + "]\n");
  batches_.erase(batch);
}

void McpServer::Answer(const std::string& id, int64_t batch, const std::string& result) {
  Send(RpcAnswer(id, result), batch);
}

void McpServer::Refuse(const std::string& id, int64_t batch, RpcError code, const std::string& message) {
  Send(RpcFailure(id, code, message), batch);
}

}  // namespace kprof::cli
