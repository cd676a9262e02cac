#include "client/cli/mcp/mcp_server.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/base/descriptors.h"
#include "tests/unit/client/captured_output.h"

namespace kprof::cli {
namespace {

// The answers to these lines, at whose end the server ends. Calls that need a kprofctl are in tests/system/test_mcp.py.
std::string AnswersTo(const std::string& lines) {
  const UniqueFd input(::memfd_create("input", MFD_CLOEXEC));
  EXPECT_EQ(::write(input.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  ::lseek(input.get(), 0, SEEK_SET);
  CapturedOutput captured;
  const GlobalOptions global;
  const Interrupts interrupts(1);
  McpServer(global, captured.output(), interrupts).Serve(input.get());
  EXPECT_EQ(captured.Notes(), "");
  return captured.Results();
}

std::string Initialize(const std::string& revision) {
  return R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" + revision +
         R"(","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})" + "\n";
}

TEST(McpServer, AgreesOnARevision) {
  const std::pair<const char*, const char*> cases[] = {{"2025-06-18", "2025-06-18"},
                                                       {"2025-03-26", "2025-03-26"},
                                                       {"2024-11-05", "2024-11-05"},
                                                       {"2099-01-01", "2025-06-18"},
                                                       {"", "2025-06-18"}};
  for (const auto& [asked, agreed] : cases) {
    const std::string answer = AnswersTo(Initialize(asked));
    EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":")" + std::string(agreed)))
        << answer;
    EXPECT_NE(answer.find(R"("capabilities":{"tools":{},"prompts":{},"resources":{}})"), std::string::npos) << answer;
  }
}

TEST(McpServer, AnswersOnlyWhatWasAsked) {
  EXPECT_EQ(AnswersTo("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                      "\n"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/of_later\"}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}\n"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\r\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}"),
            "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
}

TEST(McpServer, RefusesByNumber) {
  struct Case {
    const char* line;
    const char* id;
    const char* code;
  };
  const Case cases[] = {
      {"{nope", "null", "-32700"},
      {"{\"a\":1,\"a\":2}", "null", "-32700"},
      {"\xff", "null", "-32700"},
      {"[]", "null", "-32600"},
      {R"({"jsonrpc":"2.0","id":3})", "3", "-32600"},
      {R"({"jsonrpc":"2.0","id":3,"method":"nope"})", "3", "-32601"},
      {R"({"jsonrpc":"2.0","id":3,"method":"logging/setLevel"})", "3", "-32601"},
      {R"({"jsonrpc":"2.0","id":3,"method":"tools/call"})", "3", "-32602"},
      {R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}})", "3", "-32602"},
      {R"({"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"nope"}})", "3", "-32602"},
      {R"({"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"optimise_kernel"}})", "3", "-32602"},
      {R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///x"}})", "3", "-32002"},
  };
  for (const Case& c : cases) {
    const std::string answer = AnswersTo(std::string(c.line) + "\n");
    const std::string begin = R"({"jsonrpc":"2.0","id":)" + std::string(c.id) + R"(,"error":{"code":)" + c.code + ",";
    EXPECT_TRUE(answer.starts_with(begin)) << c.line << ": " << answer;
  }
}

TEST(McpServer, GoesOnAfterALineThatIsTooLong) {
  const std::string answers =
      AnswersTo(std::string(kMostRpcLineBytes + 1, ' ') + "\n{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n");
  EXPECT_TRUE(answers.starts_with(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,)")) << answers;
  EXPECT_TRUE(answers.ends_with("\n{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n")) << answers;
}

TEST(McpServer, AnswersABatchAtOnce) {
  EXPECT_EQ(AnswersTo("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},7,"
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},"
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n"),
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a message is an object\"}},"
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n");
  EXPECT_EQ(AnswersTo("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]\n"), "");
}

TEST(McpServer, ArgumentsThatAreWrongAreAResultOfTheTool) {
  const std::string answer = AnswersTo(
      R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"show","arguments":{"runs":"@last"}}})"
      "\n");
  EXPECT_NE(
      answer.find(R"("structuredContent":{"schema":"kprof.error.v1","code":"usage",)"
                  R"("message":"read the arguments: there is no argument 'runs'","remedy":"did you mean 'run'? )"),
      std::string::npos)
      << answer;
  EXPECT_TRUE(answer.ends_with("\"isError\":true}}\n")) << answer;
}

TEST(McpServer, ThePromptHasTheCommandAndTheRules) {
  const std::string answer =
      AnswersTo(R"({"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"optimise_kernel",)"
                R"("arguments":{"command":"python3 bench.py --b 32","device":"1","rounds":"4"}}})"
                "\n");
  for (const char* part : {"python3 bench.py --b 32", "and device 1", "after 4 rounds", "`against`", "INCONCLUSIVE",
                           "should_stop", "Never believe a single number", R"("role":"user")"}) {
    EXPECT_NE(answer.find(part), std::string::npos) << part << " in " << answer;
  }
}

}  // namespace
}  // namespace kprof::cli
