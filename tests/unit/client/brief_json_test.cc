#include "client/cli/mcp/brief_json.h"

#include <gtest/gtest.h>

#include "daemon/launch/given/json_text.h"

namespace kprof::cli {
namespace {

const BriefOptions kFew = {
    .most_items = 2, .most_values = 3, .most_members = 4, .most_text_bytes = 5, .leave_out = {"x"}};

struct BriefCase {
  const char* what;
  const char* whole;
  const char* brief;
  bool has_left_out;
};

const BriefCase kCases[] = {
    {"scalars stay as they are", R"({"a":1.50,"b":-2e9,"c":null,"d":true})", R"({"a":1.50,"b":-2e9,"c":null,"d":true})",
     false},
    {"spaces go", "{ \"a\" :\t[ 1 ,2 ] ,\n\"b\": { } }\n", R"({"a":[1,2],"b":{}})", false},
    {"objects beyond the first", R"({"k":[{"a":1},{"a":2},{"a":3},{"a":4}],"z":0})",
     R"({"k":[{"a":1},{"a":2}],"k_left_out":2,"z":0})", true},
    {"rows, but not their cells", R"({"rows":[[1,2,3],[4,5,6],[7,8,9]]})",
     R"({"rows":[[1,2,3],[4,5,6]],"rows_left_out":1})", true},
    {"numbers have a limit of their own", R"({"k":[1,2,3,4]})", R"({"k":[1,2,3],"k_left_out":1})", true},
    {"a list in a list tells in itself", R"({"k":[[1,2,3,4]]})", R"({"k":[[1,2,3,"and 1 more"]]})", true},
    {"members", R"({"a":1,"b":2,"c":3,"d":4,"e":[5],"f":{"g":6}})", R"({"a":1,"b":2,"c":3,"d":4,"left_out":2})", true},
    {"texts", R"({"a":"12345","b":"1234567"})", R"-({"a":"12345","b":"12345... (2 more bytes)"})-", true},
    {"no half of a character", "{\"a\":\"1234\xc3\xa4\xc3\xb6\"}", "{\"a\":\"1234\xc3\xa4... (2 more bytes)\"}", true},
    {"no half of an escape", R"({"a":"1234\u00e4b","b":"12345\"7"})",
     R"-({"a":"1234\u00e4... (1 more bytes)","b":"12345... (3 more bytes)"})-", true},
    {"quotes and brackets in texts", R"({"a":"\"]}","b":"[{\\"})", R"({"a":"\"]}","b":"[{\\"})", false},
    {"members that nobody asked for", R"({"x":{"a":[1]},"b":{"x":"long text","c":1}})", R"({"b":{"c":1}})", false},
    {"what is left out has lists, too", R"({"k":[1,2,3,[{"a":[9]}]],"x":[[[]]],"b":1})",
     R"({"k":[1,2,3],"k_left_out":1,"b":1})", true},
    {"empty ones", R"({"a":[],"b":{},"c":""})", R"({"a":[],"b":{},"c":""})", false},
};

TEST(BriefJson, LeavesOutTheRest) {
  for (const BriefCase& c : kCases) {
    BriefJson brief(kFew);
    brief.Add(c.whole);
    EXPECT_EQ(brief.text(), c.brief) << c.what;
    EXPECT_EQ(brief.has_left_out(), c.has_left_out) << c.what;
    EXPECT_TRUE(brief.is_whole_object()) << c.what;
    EXPECT_TRUE(ReadJson(brief.text(), c.what).ok()) << c.what;
  }
}

TEST(BriefJson, DoesNotDependOnThePieces) {
  for (const BriefCase& c : kCases) {
    BriefJson brief(kFew);
    for (const char* at = c.whole; *at != '\0'; ++at) brief.Add(std::string_view(at, 1));
    EXPECT_EQ(brief.text(), c.brief) << c.what;
  }
}

TEST(BriefJson, KnowsWhatIsNoObject) {
  BriefJson page({});
  page.Add("## Profile\n[a](b) and \"c\"\n");
  EXPECT_FALSE(page.is_whole_object());
  BriefJson half({});
  half.Add(R"({"a":[1)");
  EXPECT_FALSE(half.is_whole_object());
  EXPECT_FALSE(BriefJson({}).is_whole_object());
}

TEST(BriefJson, StandsNonsense) {
  BriefJson brief({});
  brief.Add("]}}{\"a\":]},,:\"\\u\"{{[[\"}");
  EXPECT_LT(brief.text().size(), 200U);
}

TEST(BriefJson, KeepsOnlyItsShortForm) {
  BriefJson brief({});
  brief.Add("{\"k\":[{\"a\":0}");
  for (int i = 0; i < 100'000; ++i) brief.Add(",{\"a\":1,\"b\":\"some text\"}");
  brief.Add("]}");
  EXPECT_TRUE(brief.is_whole_object());
  EXPECT_LT(brief.text().size(), 1000U);
  EXPECT_TRUE(brief.text().ends_with("],\"k_left_out\":99981}")) << brief.text();
}

}  // namespace
}  // namespace kprof::cli
