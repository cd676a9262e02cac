#include "client/cli/mcp/mcp_tools.h"

#include <gtest/gtest.h>

#include <set>

#include "client/cli/grammar/command_line.h"

namespace kprof::cli {
namespace {

Result<McpCommand> Call(const char* tool, const std::string& arguments) {
  const Result<const McpTool*> found = FindMcpTool(tool);
  EXPECT_TRUE(found.ok()) << tool;
  const Result<GivenJson> json = ReadJson(arguments, "the arguments");
  EXPECT_TRUE(json.ok()) << arguments;
  return CommandOfCall(**found, *json);
}

struct CallCase {
  const char* tool;
  const char* arguments;
  std::vector<std::string> words;
};

const CallCase kCalls[] = {
    {"capture",
     R"({"command":["./a","--b","c d"],"tool":"event","against":"./base --b","options":{"samples":50,"delta":1.5},
         "session":"@last","timeout_s":2.5,"labels":{"try":"3","n":4},"env":{"A":"x=y"},"params":{"b":32},
         "collect":"out/*","exclusive":true,"check":null})",
     {"capture", "event", "--against=./base --b", "--samples=50", "--delta=1.5", "--session=@last", "--timeout=2500ms",
      "--label=try=3", "--label=n=4", "--params={\"b\":32}", "--env=A=x=y", "--collect=out/*", "--exclusive", "--",
      "./a", "--b", "c d"}},
    {"capture",
     R"({"tool":"command","command":"make && ./a"})",
     {"capture", "command", "--", "sh", "-c", "make && ./a"}},
    {"capture",
     R"({"tool":"neuron","options":{"neff":"a.neff","single_io":true,"stages":{"a":[1]},"view":null}})",
     {"capture", "neuron", "--neff=a.neff", "--single-io=true", "--stages={\"a\":[1]}"}},
    {"capture_tools", "{}", {"capture", "--list"}},
    {"show", R"({"run":"@last~2","rows":5})", {"show", "@last~2"}},
    {"report", R"({"run":"1m","baseline":"2m","format":"md"})", {"report", "1m", "--baseline=2m", "--format=md"}},
    {"compare",
     R"({"run":["a","b"],"baseline":["c","d"],"options":{"rank":0}})",
     {"compare", "a", "b", "--baseline=c", "--baseline=d", "--rank=0"}},
    {"analyze",
     R"({"kind":"roofline","runs":["a","label:job=x"],"options":{"policy":"tc60-dram70"}})",
     {"analyze", "roofline", "a", "label:job=x", "--policy=tc60-dram70"}},
    {"analysis_help", R"({"kind":"lines"})", {"analyze", "--list", "lines"}},
    {"query",
     R"({"sql":"-- all of it\nSELECT 1","runs":"@last"})",
     {"query", " -- all of it\nSELECT 1", "--run=@last"}},
    {"query", R"({"sql":"@file"})", {"query", " @file"}},
    {"session_open",
     R"({"device":"0","clocks":"lock","ttl_s":3600,"labels":{"loop":"7"}})",
     {"session", "open", "--device=0", "--clocks=lock", "--ttl=3600000ms", "--label=loop=7"}},
    {"session_show", R"({"session":"@last"})", {"session", "show", "@last"}},
    {"session_close", R"({"session":"@last"})", {"session", "close", "@last"}},
    {"runs",
     R"({"limit":3,"tool":["ncu","event"],"state":"done","labels":{"kernel":"mla"}})",
     {"runs", "--label=kernel=mla", "--tool=ncu", "--tool=event", "--state=done", "--limit=3"}},
    {"status", "{}", {"status"}},
};

TEST(McpTools, CallsAreCommandLines) {
  for (const CallCase& c : kCalls) {
    const Result<McpCommand> command = Call(c.tool, c.arguments);
    ASSERT_TRUE(command.ok()) << c.tool << ": " << command.status().ToString();
    EXPECT_EQ(command->words, c.words);
    const Result<CommandLine> line = ParseCommandLine(command->words);
    EXPECT_TRUE(line.ok()) << c.tool << ": " << line.status().ToString();
  }
}

TEST(McpTools, EachToolIsCalledInTheCasesAbove) {
  std::set<std::string_view> called;
  for (const CallCase& c : kCalls) called.insert(c.tool);
  for (const McpTool& tool : McpTools()) {
    EXPECT_TRUE(called.contains(tool.name) || tool.name == "analyses") << tool.name;
  }
  EXPECT_TRUE(ParseCommandLine({"analyze", "--list"}).ok());
}

TEST(McpTools, RowsLimitTheListsThatAreShown) {
  EXPECT_EQ(Call("show", R"({"run":"a"})")->brief.most_items, 20U);
  EXPECT_EQ(Call("show", R"({"run":"a","rows":7})")->brief.most_items, 7U);
  EXPECT_EQ(Call("runs", R"({"limit":30})")->brief.most_items, 30U);
}

TEST(McpTools, ArgumentsThatAreWrongAreNamed) {
  struct Case {
    const char* tool;
    const char* arguments;
    const char* why;
  };
  const Case cases[] = {
      {"status", "[]", "the arguments are no object"},
      {"show", "{}", "'run' is missing"},
      {"show", R"({"run":null})", "'run' is missing"},
      {"show", R"({"run":""})", "'run' is empty"},
      {"show", R"({"run":5})", "'run' is not a text"},
      {"show", R"({"run":"--socket=/tmp/x"})", "'run' begins with a dash"},
      {"show", R"({"run":"a\u0000b"})", "'run' has a NUL in it"},
      {"show", R"({"run":"a","row":3})", "there is no argument 'row'"},
      {"show", R"({"run":"a","rows":0})", "'rows' is not a whole number from 1 to 10000"},
      {"show", R"({"run":"a","rows":"3"})", "'rows' is not a whole number from 1 to 10000"},
      {"show", R"({"run":"a","rows":2.5})", "'rows' is not a whole number from 1 to 10000"},
      {"analyze", R"({"kind":"a","runs":[]})", "'runs' is not a text or a list of texts"},
      {"analyze", R"({"kind":"a","runs":["b",1]})", "'runs' is not a text or a list of texts"},
      {"analyze", R"({"kind":"a","runs":"b","options":{"":1}})", "'' names no option"},
      {"analyze", R"({"kind":"a","runs":"b","options":{"-x":1}})", "'-x' names no option"},
      {"analyze", R"({"kind":"a","runs":"b","options":{"x=y":1}})", "'x=y' names no option"},
      {"capture", R"({"tool":"command","command":5})", "'command' is not a line or a list of words"},
      {"capture", R"({"tool":"command","command":[5]})", "'command' is not a list of texts"},
      {"capture", R"({"tool":"command","timeout_s":0})", "'timeout_s' is not a number of seconds over 0"},
      {"capture", R"({"tool":"command","timeout_s":"1m"})", "'timeout_s' is not a number of seconds over 0"},
      {"capture", R"({"tool":"command","exclusive":"yes"})", "'exclusive' is not true or false"},
      {"capture", R"({"tool":"command","labels":"a=b"})", "'labels' is not an object"},
      {"capture", R"({"tool":"command","params":[1]})", "'params' is not an object"},
  };
  for (const Case& c : cases) {
    const Result<McpCommand> command = Call(c.tool, c.arguments);
    ASSERT_FALSE(command.ok()) << c.arguments;
    EXPECT_EQ(command.status().code(), ErrorCode::kUsage) << c.arguments;
    EXPECT_EQ(command.status().why(), c.why) << c.arguments;
    EXPECT_NE(command.status().remedy(), "") << c.arguments;
  }
  EXPECT_FALSE(Call("query", "{\"sql\":\"" + std::string(130'000, 'a') + "\"}").ok());
}

TEST(McpTools, AToolThatIsNotThereHasASuggestion) {
  const Result<const McpTool*> tool = FindMcpTool("compar");
  ASSERT_FALSE(tool.ok());
  EXPECT_NE(tool.status().remedy().find("did you mean 'compare'?"), std::string::npos) << tool.status().remedy();
}

TEST(McpTools, AreListedWithTheirSchemas) {
  std::string text;
  JsonWriter json(text);
  WriteMcpTools(json);
  const Result<GivenJson> list = ReadJson(text, "the list");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  const GivenJson& tools = *list->Find("tools");
  ASSERT_EQ(tools.items.size(), McpTools().size());
  for (size_t i = 0; i < tools.items.size(); ++i) {
    const GivenJson& tool = tools.items[i];
    EXPECT_EQ(tool.Find("name")->text, McpTools()[i].name);
    const GivenJson& schema = *tool.Find("inputSchema");
    EXPECT_EQ(schema.Find("properties")->names.size(), McpTools()[i].params.size());
    for (const GivenJson& name : schema.Find("required")->items) {
      EXPECT_NE(schema.Find("properties")->Find(name.text), nullptr) << name.text;
    }
    const bool changes = tool.Find("name")->text == "capture" || tool.Find("name")->text.starts_with("session_");
    const bool only_reads = tool.Find("annotations")->Find("readOnlyHint")->text == "true";
    EXPECT_EQ(only_reads, !changes || tool.Find("name")->text == "session_show") << tool.Find("name")->text;
  }
  EXPECT_LT(text.size(), 12'000U) << "each client reads it once, and pays for it";
}

}  // namespace
}  // namespace kprof::cli
