#include "client/cli/mcp/rpc_message.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

RpcMessage Read(const std::string& text) {
  const Result<GivenJson> json = ReadJson(text, "the message");
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  return ReadRpcMessage(*json);
}

TEST(RpcLines, AreCutAtTheirEndsHoweverTheyCome) {
  RpcLines lines;
  lines.Add("on");
  EXPECT_FALSE(lines.Next());
  lines.Add("e\ntwo\n\nthr");
  EXPECT_EQ(lines.Next()->text, "one");
  EXPECT_EQ(lines.Next()->text, "two");
  EXPECT_EQ(lines.Next()->text, "");
  EXPECT_FALSE(lines.Next());
  lines.Add("ee\n");
  EXPECT_EQ(lines.Next()->text, "three");
}

TEST(RpcLines, ThatAreTooLongAreDroppedAndTold) {
  RpcLines lines;
  lines.Add(std::string(kMostRpcLineBytes, 'a') + "\n");
  EXPECT_EQ(lines.Next()->text.size(), kMostRpcLineBytes);
  const std::string piece(1 << 20, 'b');
  for (size_t i = 0; i <= kMostRpcLineBytes >> 20; ++i) {
    lines.Add(piece);
    EXPECT_FALSE(lines.Next());
  }
  lines.Add("end\nnext\n");
  std::optional<RpcLine> line = lines.Next();
  EXPECT_TRUE(line->is_too_long);
  EXPECT_EQ(line->text, "");
  line = lines.Next();
  EXPECT_FALSE(line->is_too_long);
  EXPECT_EQ(line->text, "next");
}

TEST(RpcMessage, KeepsItsIdAsItWasWritten) {
  EXPECT_EQ(Read(R"({"jsonrpc":"2.0","id":7,"method":"ping"})").id, "7");
  EXPECT_EQ(Read(R"({"jsonrpc":"2.0","id":"7","method":"ping"})").id, R"("7")");
  const RpcMessage message = Read(R"({"jsonrpc":"2.0","id":-1,"method":"m","params":{"a":1}})");
  EXPECT_EQ(message.fault, "");
  EXPECT_EQ(message.method, "m");
  EXPECT_EQ(JsonOf(message.params), R"({"a":1})");
}

TEST(RpcMessage, WithoutAnIdIsANotification) {
  const RpcMessage message = Read(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(message.id + message.fault, "");
  EXPECT_EQ(message.method, "notifications/initialized");
}

TEST(RpcMessage, OfAnAnswerHasNoMethodAndNoFault) {
  for (const char* text : {R"({"jsonrpc":"2.0","id":1,"result":{}})",
                           R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}})"}) {
    const RpcMessage message = Read(text);
    EXPECT_EQ(message.method + message.fault, "") << text;
  }
}

TEST(RpcMessage, ThatIsNoneSaysWhy) {
  struct Case {
    const char* text;
    const char* id;
    const char* fault;
  };
  const Case cases[] = {
      {"1", "null", "a message is an object"},
      {"{}", "null", "\"jsonrpc\" is not \"2.0\""},
      {R"({"jsonrpc":"1.0","id":3,"method":"ping"})", "3", "\"jsonrpc\" is not \"2.0\""},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", "null", "the id is neither a text nor a whole number"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", "null", "the id is neither a text nor a whole number"},
      {R"({"jsonrpc":"2.0","id":[1],"method":"ping"})", "null", "the id is neither a text nor a whole number"},
      {R"({"jsonrpc":"2.0","id":4})", "4", "\"method\" is no text"},
      {R"({"jsonrpc":"2.0","id":4,"method":5})", "4", "\"method\" is no text"},
      {R"({"jsonrpc":"2.0","id":4,"method":"m","params":[1]})", "4", "\"params\" is no object"},
  };
  for (const Case& c : cases) {
    const RpcMessage message = Read(c.text);
    EXPECT_EQ(message.id, c.id) << c.text;
    EXPECT_EQ(message.fault, c.fault) << c.text;
  }
}

TEST(RpcMessage, IsWrittenOnOneLine) {
  EXPECT_EQ(RpcAnswer("7", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
  EXPECT_EQ(RpcFailure(R"("a")", RpcError::kUnknownMethod, "two\nlines"),
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"two\\nlines\"}}\n");
  EXPECT_EQ(RpcNotification("m", "{}"), "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}\n");
}

}  // namespace
}  // namespace kprof::cli
