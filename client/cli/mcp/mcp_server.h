// A server of the Model Context Protocol (modelcontextprotocol.io) over standard input and output: `kprofctl mcp`. Each
// call of a tool and each read of a resource is a kprofctl of its own (verb_process.h), so several go on at a time, a
// call can be interrupted as by Ctrl-C, and the server answers pings meanwhile and needs no thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/grammar/verb_args.h"
#include "client/cli/mcp/brief_json.h"
#include "client/cli/mcp/mcp_tools.h"
#include "client/cli/mcp/rpc_message.h"
#include "client/cli/mcp/verb_process.h"
#include "client/cli/output.h"
#include "client/cli/waiting/interrupts.h"
#include "storage/base/status.h"

namespace kprof::cli {

// One thread. `output` gets nothing but messages as results.
class McpServer {
 public:
  // The most calls under way; one more is refused.
  static constexpr size_t kMostCalls = 16;

  // `global` is handed on to each call. All three must outlive the server.
  McpServer(const GlobalOptions& global, Output& output, const Interrupts& interrupts);
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // Serves until `input` ends, a signal comes, or nobody reads the answers. Calls that only read are then finished,
  // unless nobody awaits them; the others are interrupted and waited for.
  void Serve(int input);

 private:
  enum class CallKind { kTool, kListResources, kReadResource };

  struct Call {
    CallKind kind = CallKind::kTool;
    std::string id;  // as JSON
    int64_t batch = 0;
    const McpTool* tool = nullptr;
    std::string uri;                   // of a resource
    std::vector<std::string> words;    // of the command line
    std::unique_ptr<BriefJson> brief;  // of the results of a tool
    std::string bytes;                 // the first of the results
    bool has_more_bytes = false;       // than `bytes`
    bool is_cancelled = false;         // by its caller, who awaits no answer any more
    std::string progress_token;        // as JSON; empty: nobody wants to hear of it
    VerbProcess::Clock::time_point start;
    int64_t told_seconds = 0;
    std::unique_ptr<VerbProcess> process;
  };

  // Answers to the messages of one line, sent when all are there.
  struct Batch {
    size_t awaited = 0;
    std::string answers;
  };

  void TakeLine(const RpcLine& line);
  void TakeMessage(const RpcMessage& message, int64_t batch);
  void TakeRequest(const RpcMessage& message, int64_t batch);
  void Initialize(const RpcMessage& message, int64_t batch);
  void Cancel(const GivenJson& params);
  void CallTool(const RpcMessage& message, int64_t batch);
  void ListResources(const RpcMessage& message, int64_t batch);
  void ReadResource(const RpcMessage& message, int64_t batch);

  void Start(std::unique_ptr<Call> call, std::vector<std::string> words, const RpcMessage& message);
  void Finish(const Call& call);
  void FinishTool(const Call& call);
  void FinishResource(const Call& call);
  void TellProgress(Call& call);

  // `line`: a whole answer.
  void Send(const std::string& line, int64_t batch);
  void Answer(const std::string& id, int64_t batch, const std::string& result);
  void Refuse(const std::string& id, int64_t batch, RpcError code, const std::string& message);

  // Set once.
  const GlobalOptions& global_;
  Output& output_;
  const Interrupts& interrupts_;

  std::vector<std::unique_ptr<Call>> calls_;
  std::map<int64_t, Batch> batches_;  // 0 is none
  int64_t last_batch_ = 0;
};

}  // namespace kprof::cli
