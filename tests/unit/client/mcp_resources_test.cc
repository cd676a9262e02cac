#include "client/cli/mcp/mcp_resources.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

template <typename Write>
GivenJson Written(const Write& write) {
  std::string text;
  JsonWriter json(text);
  write(json);
  const Result<GivenJson> read = ReadJson(text, "the answer");
  EXPECT_TRUE(read.ok()) << text;
  return read.ok() ? *read : GivenJson();
}

GivenJson ContentOf(std::string_view uri, std::string_view bytes) {
  return Written([&](JsonWriter& json) { WriteMcpContents(json, uri, bytes); }).Find("contents")->items.at(0);
}

TEST(McpResources, AreTheArtifactsOfRuns) {
  const Result<GivenJson> runs = ReadJson(
      R"({"runs":[{"id":"1m","tool":"ncu","artifacts":[{"name":"a b.json","size_bytes":5},{"name":"x.ncu-rep"}]},
                  {"id":"2m","tool":"event","artifacts":[]},{"id":"3m"}]})",
      "runs");
  const GivenJson list = Written([&](JsonWriter& json) { WriteMcpResources(json, *runs); });
  const std::vector<GivenJson>& resources = list.Find("resources")->items;
  ASSERT_EQ(resources.size(), 2U);
  EXPECT_EQ(JsonOf(resources[0]),
            R"({"uri":"kprof://1m/artifacts/a%20b.json","name":"a b.json","description":"of run 1m, tool ncu",)"
            R"("mimeType":"application/json","size":5})");
  EXPECT_EQ(resources[1].Find("mimeType")->text, "application/octet-stream");
  EXPECT_EQ(resources[1].Find("size"), nullptr);
}

TEST(McpResources, AreReadByTheirUri) {
  const std::vector<std::string> artifact = {"artifacts", "1m", "get", "a b/100%.json", "-o", "-"};
  EXPECT_EQ(*WordsToRead("kprof://1m/artifacts/a%20b%2F100%25.json"), artifact);
  EXPECT_EQ(*WordsToRead("kprof://@last/logs/stdout"), (std::vector<std::string>{"logs", "@last"}));
  EXPECT_EQ(*WordsToRead("kprof://1m/logs/stderr"), (std::vector<std::string>{"logs", "1m", "--stderr"}));
}

TEST(McpResources, OfAnotherFormAreRefused) {
  for (const char* uri : {"", "file:///etc/passwd", "kprof://", "kprof://1m", "kprof:///artifacts/a",
                          "kprof://1m/artifacts/", "kprof://1m/logs/", "kprof://1m/logs/stdin",
                          "kprof://--help/artifacts/a", "kprof://1m/artifacts/-o", "kprof://1m/artifacts/%2",
                          "kprof://1m/artifacts/%zz", "kprof://1m/artifacts/a%00b", "kprof://1m/artifacts/%-1"}) {
    const Result<std::vector<std::string>> words = WordsToRead(uri);
    ASSERT_FALSE(words.ok()) << uri;
    EXPECT_EQ(words.status().code(), ErrorCode::kUsage) << uri;
  }
}

TEST(McpResources, AreTextOrBase64) {
  EXPECT_EQ(JsonOf(ContentOf("kprof://1m/artifacts/a.md", "# A\n")),
            "{\"uri\":\"kprof://1m/artifacts/a.md\",\"mimeType\":\"text/markdown\",\"text\":\"# A\\u000a\"}");
  EXPECT_EQ(ContentOf("kprof://1m/logs/stdout", "").Find("mimeType")->text, "text/plain");
  const std::pair<std::string, const char*> blobs[] = {
      {"\xff", "/w=="}, {"\xff\xfe", "//4="}, {"\xff\xfe\xfd", "//79"}, {std::string("\xff\0a\x10", 4), "/wBhEA=="}};
  for (const auto& [bytes, blob] : blobs) {
    EXPECT_EQ(ContentOf("kprof://1m/artifacts/a.neff", bytes).Find("blob")->text, blob);
  }
}

}  // namespace
}  // namespace kprof::cli
