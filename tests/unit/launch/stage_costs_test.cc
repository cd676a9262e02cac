#include "daemon/launch/given/stage_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;

// "qk flops=2 bytes=3 bf16 times=4;pv"
std::string TextOf(const std::vector<StageCost>& costs) {
  std::string text;
  for (const StageCost& cost : costs) {
    text += (text.empty() ? "" : ";") + cost.stage;
    const auto add = [&](const char* name, const std::optional<double>& number) {
      if (number) text += std::string(" ") + name + "=" + std::to_string(static_cast<int64_t>(*number));
    };
    add("flops", cost.flops);
    add("bytes", cost.bytes);
    if (!cost.dtype.empty()) text += " " + cost.dtype;
    add("times", cost.times);
  }
  return text;
}

struct GoodStages {
  const char* text;
  const char* read;
};
class StageForms : public testing::TestWithParam<GoodStages> {};

TEST_P(StageForms, AreAllRead) {
  const Result<std::vector<StageCost>> costs = ReadStageCosts(GetParam().text, "--stages");
  ASSERT_TRUE(costs.ok()) << costs.status().ToString();
  EXPECT_EQ(TextOf(*costs), GetParam().read);
}

INSTANTIATE_TEST_SUITE_P(
    All, StageForms,
    testing::Values(
        GoodStages{R"({"qk": {"flops": 2, "bytes": 3, "dtype": "torch.bfloat16", "times": 4}, "pv": {}})",
                   "qk flops=2 bytes=3 bf16 times=4;pv"},
        GoodStages{R"([{"name": "qk", "flops": 2e1}, {"name": "pv", "dtype": "fp8"}])", "qk flops=20;pv fp8"},
        GoodStages{R"({"stages": {"qk": {"flops": 2}}})", "qk flops=2"},
        GoodStages{R"({"stages": [{"name": "qk"}, {"name": "stages", "bytes": 1}]})", "qk;stages bytes=1"},
        GoodStages{R"({"note": "x", "dtype": "float16", "stages": {"qk": {}, "pv": {"dtype": "fp32"}}})",
                   "qk fp16;pv fp32"},
        GoodStages{R"({"dtype": ["a"], "stages": {"qk": {}}})", "qk"},
        GoodStages{R"({"qk": {"note": {"a": [1]}, "name": 3, "time": 1, "flops": null, "bytes": 0}})", "qk bytes=0"},
        GoodStages{R"({"a/b[0]\"\\": {}})", "a/b[0]\"\\"}));

struct BadStages {
  const char* text;
  const char* why;
};
class StageFaults : public testing::TestWithParam<BadStages> {};

TEST_P(StageFaults, AreRefusedWithTheirPlace) {
  const Status status = ReadStageCosts(GetParam().text, "--stages").status();
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_THAT(status.ToString(), HasSubstr("read --stages: "));
  EXPECT_THAT(status.ToString(), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, StageFaults,
    testing::Values(BadStages{"", "byte 0: "}, BadStages{"{}", "byte 0: it names no stage"},
                    BadStages{R"({"stages": []})", "byte 11: it names no stage"},
                    BadStages{R"({"stages": 3})", "byte 11: stages are an object or a list"},
                    BadStages{R"("qk")", "byte 0: stages are an object or a list"},
                    BadStages{R"(["qk"])", "byte 1: a stage of a list has no text as its name"},
                    BadStages{R"([{"name": 3}])", "byte 1: a stage of a list has no text as its name"},
                    BadStages{R"({"qk": 3})", "byte 7: stage 'qk' is no object"},
                    BadStages{R"({"": {}})", "byte 5: a stage's name is empty"},
                    BadStages{R"({"a\nb": {}})", "of several lines"},
                    BadStages{R"([{"name": "a"}, {"name": "a"}])", "byte 16: stage 'a' is there twice"},
                    BadStages{R"({"a": {}, "a": {}})", "byte 13: "},
                    BadStages{R"({"qk": {"flops": -1}})", "byte 17: flops of stage 'qk' must be a number from 0 on"},
                    BadStages{R"({"qk": {"bytes": "1e9"}})", "bytes of stage 'qk' must be a number"},
                    BadStages{R"({"qk": {"times": 1e999}})", "times of stage 'qk' must be a number"},
                    BadStages{R"({"qk": {"dtype": 16}})", "byte 17: the dtype of stage 'qk' is no short text"},
                    BadStages{R"({"qk": {"flop": 1}})", "stage 'qk' has 'flop': flops?"},
                    BadStages{R"({"qk": {"Bytes": 1}})", "stage 'qk' has 'Bytes': bytes?"},
                    BadStages{R"({"qk": {}} x)", "byte 11: "}));

TEST(StageCosts, AreAtMost256) {
  std::string text = "[";
  for (int i = 0; i < 256; ++i) text += (i > 0 ? "," : "") + ("{\"name\":\"s" + std::to_string(i) + "\"}");
  EXPECT_TRUE(ReadStageCosts(text + "]", "--stages").ok());
  EXPECT_THAT(ReadStageCosts(text + ",{\"name\":\"x\"}]", "--stages").status().ToString(),
              HasSubstr("there are more than 256"));
}

TEST(GivenStages, OfTheOptionCountBeforeThoseOfParameters) {
  constexpr char kParams[] = R"({"b": 32, "dtype": "bfloat16", "stages": {"qk": {"flops": 2}}})";
  EXPECT_EQ(TextOf(*ReadGivenStages("", kParams)), "qk flops=2 bf16");
  EXPECT_EQ(TextOf(*ReadGivenStages(R"([{"name": "pv"}, {"name": "o", "dtype": "fp8"}])", kParams)), "pv bf16;o fp8");
  EXPECT_EQ(TextOf(*ReadGivenStages(R"({"dtype": "fp32", "stages": {"pv": {}}})", kParams)), "pv fp32");
  EXPECT_EQ(TextOf(*ReadGivenStages("", "")), "");
}

TEST(GivenStages, AreNoParameterOfAnotherForm) {
  for (const char* params : {R"({"stages": 3})", R"({"stages": [2, 3]})", R"({"stages": []})", "{}", "[]"}) {
    const Result<std::vector<StageCost>> costs = ReadGivenStages("", params);
    ASSERT_TRUE(costs.ok()) << params;
    EXPECT_EQ(TextOf(*costs), "") << params;
    EXPECT_EQ(*GivenStagesText("", params), "") << params;
  }
  EXPECT_THAT(ReadGivenStages("", R"({"stages": {"qk": {"flops": -1}}})").status().ToString(),
              HasSubstr("read --params: byte 28: flops of stage 'qk'"));
}

TEST(GivenStages, AsOneTextAreTheSame) {
  constexpr char kParams[] = R"({"b": 32, "dtype": "bfloat16", "stages": {"qk": {"flops": 2}}})";
  for (const char* stages : {"", R"([{"name": "pv"}])", R"({"dtype": "fp32", "stages": {"pv": {"note": [1]}}})"}) {
    const Result<std::string> text = GivenStagesText(stages, kParams);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    EXPECT_EQ(TextOf(*ReadStageCosts(*text, "it")), TextOf(*ReadGivenStages(stages, kParams))) << *text;
  }
  EXPECT_EQ(*GivenStagesText(R"({"qk": {}})", "no JSON"), R"({"stages":{"qk":{}}})");
  EXPECT_FALSE(GivenStagesText("{", kParams).ok());
}

}  // namespace
}  // namespace kprof
