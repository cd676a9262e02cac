// The tools that kprofctl offers over the Model Context Protocol. Each is a verb of kprofctl's: its arguments become
// the words of a command line, and its result is what the verb prints with --json, made short (brief_json.h). So a tool
// behaves as docs/cli.md says of its verb. A tool is one row of the list in mcp_tools.cc. Values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/mcp/brief_json.h"
#include "client/cli/text/json_writer.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/status.h"

namespace kprof::cli {

struct McpParam {
  enum class Kind {
    kText,
    kTexts,        // one, or a list
    kSeconds,      // a duration
    kSwitch,       // true or false
    kPairs,        // an object of texts: OPTION=K=V for each
    kObject,       // an object, handed on as JSON
    kToolOptions,  // an object: --NAME=VALUE for each member
    kCommand,      // a list of words, or a line for sh -c; stands behind --
    kRows,         // how much of each list is shown; with an option also a limit of the verb's
  };
  std::string_view name;
  Kind kind;
  std::string_view option;  // "--device"; empty: a word of its own
  bool is_required;
  std::string_view meaning;
};

struct McpTool {
  std::string_view name;
  std::vector<std::string_view> verb;
  std::string_view meaning;
  bool only_reads = true;     // else it is interrupted when its caller is gone
  bool runs_command = false;  // the end of its output belongs to the result
  BriefOptions brief = {};
  std::vector<McpParam> params = {};
};

const std::vector<McpTool>& McpTools();
// Fails with kUsage; the remedy names the tools there are.
Result<const McpTool*> FindMcpTool(std::string_view name);

// Writes the answer of tools/list: names, meanings, and schemas of arguments.
void WriteMcpTools(JsonWriter& json);

// A call as it is carried out.
struct McpCommand {
  std::vector<std::string> words;  // of a command line, without kprofctl itself and without global options
  BriefOptions brief;
};

// `arguments`: an object, or kNull. Fails with kUsage for arguments that are missing, of the wrong kind, or unknown.
Result<McpCommand> CommandOfCall(const McpTool& tool, const GivenJson& arguments);

}  // namespace kprof::cli
