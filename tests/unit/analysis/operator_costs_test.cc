#include "daemon/analysis/functions/host/operator_costs.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace kprof {
namespace {

struct CallCase {
  const char* name;
  const char* dims;
  const char* types;
  const char* values;
  std::optional<double> flops;
  std::optional<double> bytes;
};

void Check(const CallCase& call) {
  const std::optional<OperatorCost> cost = CostOfOperator(call.name, call.dims, call.types, call.values);
  EXPECT_EQ(cost.has_value(), call.flops.has_value()) << call.name << call.dims << call.values;
  if (!cost || !call.flops) return;
  EXPECT_EQ(cost->flops, *call.flops) << call.name << call.dims << call.values;
  EXPECT_EQ(cost->bytes, call.bytes) << call.name << call.dims << call.types;
}

TEST(OperatorCosts, OfMatrixProductsAreTwoForEachOfMNK) {
  const char* two = R"(["float","c10::Half"])";
  const char* three = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])";
  const CallCase calls[] = {
      {"aten::mm", "[[4,8],[8,2]]", two, "", 2.0 * 4 * 8 * 2, 4.0 * 32 + 2 * 16 + 4 * 8},
      {"aten::bmm", "[[3,4,8],[3,8,2]]", two, "", 3 * 2.0 * 4 * 8 * 2, 4.0 * 96 + 2 * 48 + 4 * 24},
      {"aten::matmul", "[[5,1,4,8],[3,8,2]]", two, "", 15 * 2.0 * 4 * 8 * 2, 4.0 * 160 + 2 * 48 + 4 * 120},
      {"aten::matmul", "[[8],[8,2]]", two, "", 2.0 * 8 * 2, 4.0 * 8 + 2 * 16 + 4 * 2},
      {"aten::mv", "[[4,8],[8]]", two, "", 2.0 * 4 * 8, 4.0 * 32 + 2 * 8 + 4 * 4},
      {"aten::addmm", "[[2],[4,8],[8,2],[],[]]", three, "", 2.0 * 4 * 8 * 2, 2.0 * (32 + 16 + 8 + 2)},
      {"aten::baddbmm", "[[3,4,2],[3,4,8],[3,8,2]]", three, "", 3 * 2.0 * 4 * 8 * 2, 2.0 * (96 + 48 + 24 + 24)},
      {"aten::linear", "[[7,4,8],[2,8],[2]]", three, "", 2.0 * 28 * 8 * 2, 2.0 * (224 + 16 + 56 + 2)},
      {"aten::linear", "[[4,8],[2,8],[]]", three, "", 2.0 * 4 * 8 * 2, 2.0 * (32 + 16 + 8)},
      {"aten::mm", "[[4,8],[8,2]]", R"(["float","unknown"])", "", 2.0 * 4 * 8 * 2, std::nullopt},
      {"aten::mm", "[[4,8],[8,2]]", "", "", 2.0 * 4 * 8 * 2, std::nullopt},
      {"aten::mm", "[[4,8],[7,2]]", two, "", std::nullopt, std::nullopt},
      {"aten::matmul", "[[2,4,8],[3,8,2]]", two, "", std::nullopt, std::nullopt},
      {"aten::mm", "[[4,8],[8,2]]", R"(["c10::complex<float>","c10::complex<float>"])", "", std::nullopt, std::nullopt},
      {"aten::relu", "[[4,8]]", two, "", std::nullopt, std::nullopt},
      {"aten::mm", "", two, "", std::nullopt, std::nullopt},
  };
  for (const CallCase& call : calls) Check(call);
}

TEST(OperatorCosts, OfSumsOverRanksAreTheirTraffic) {
  const auto cost = CostOfOperator("symm_mem::multimem_all_reduce_", "[[888,2880],[],[]]", R"(["c10::BFloat16","",""])",
                                   R"(["","",""])");
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->flops, std::nullopt);
  EXPECT_EQ(cost->bytes, 2.0 * 2 * 888 * 2880);
  EXPECT_FALSE(CostOfOperator("symm_mem::multimem_all_reduce_", "[[888],[],[]]", R"(["unknown"])", ""));
  EXPECT_FALSE(CostOfOperator("symm_mem::multimem_all_reduce_", "[[],[],[]]", R"(["c10::BFloat16"])", ""));
}

TEST(OperatorCosts, OfConvolutionsFollowTheSizeOfTheResult) {
  const char* types = R"(["float","float","float"])";
  // 2 images of 4 channels of 8 x 8, stride 2: 4 x 4.
  const char* dims = "[[2,3,8,8],[4,3,3,3],[4]]";
  const double flops = 2.0 * (2 * 4 * 4 * 4) * 27;
  const double bytes = 4.0 * (2 * 3 * 64 + 4 * 27 + 2 * 4 * 16 + 4);
  const CallCase calls[] = {
      {"aten::conv2d", dims, types, R"(["","","","[2, 2]","[1, 1]","[1, 1]","1"])", flops, bytes},
      {"aten::convolution", dims, types, R"(["","","","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1"])", flops, bytes},
      {"aten::cudnn_convolution", "[[2,3,8,8],[4,3,3,3]]", types, R"(["","","[1, 1]","[2, 2]","[1, 1]","1"])", flops,
       bytes - 16},
      {"aten::miopen_convolution", dims, types, R"(["","","","[1, 1]","[2, 2]","[1, 1]","1"])", flops, bytes},
      // 8 groups: each channel of the result is made of one.
      {"aten::conv1d", "[[1,8,10],[8,1,3],[]]", types, R"(["","","","[1]","[0]","[2]","8"])", 2.0 * 8 * 6 * 3,
       4.0 * (80 + 24 + 48)},
      {"aten::conv2d", "[[3,8,8],[4,3,3,3],[4]]", types, R"(["","","","[2]","[1]","[1]","1"])", flops / 2,
       4.0 * (3 * 64 + 4 * 27 + 4 * 16 + 4)},
      {"aten::convolution", "[[2,3,4,4],[3,5,2,2],[]]", types,
       R"(["","","","[2, 2]","[0, 0]","[1, 1]","True","[0, 0]","1"])", 2.0 * (2 * 3 * 16) * 20, std::nullopt},
      {"aten::convolution_backward", "[[2,4,4,4],[2,3,8,8],[4,3,3,3],[]]", types,
       R"(["","","","[4]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, True]"])", 2 * flops,
       4.0 * (128 + 2 * 384 + 2 * 108)},
      {"aten::conv2d", dims, types, "", std::nullopt, std::nullopt},
      {"aten::conv2d", dims, types, R"(["","","","[2, 2]","same","[1, 1]","1"])", std::nullopt, std::nullopt},
      {"aten::conv2d", dims, types, R"(["","","","[0, 0]","[1, 1]","[1, 1]","1"])", std::nullopt, std::nullopt},
      {"aten::conv2d", "[[2,3,1,1],[4,3,3,3],[4]]", types, R"(["","","","[1]","[0]","[1]","1"])", std::nullopt,
       std::nullopt},
  };
  for (const CallCase& call : calls) Check(call);
}

TEST(OperatorCosts, OfAttentionCountPairsThatAreSeen) {
  const char* types = R"(["c10::Half","c10::Half","c10::Half"])";
  const char* dims = "[[1,2,4,8],[1,2,6,8],[1,2,6,8]]";
  const double full = 2.0 * 2 * (4 * 6) * 16;
  const double bytes = 2.0 * (64 + 96 + 96 + 64);
  const CallCase calls[] = {
      {"aten::scaled_dot_product_attention", dims, types, R"(["","","","","0.","False","","False"])", full, bytes},
      {"aten::scaled_dot_product_attention", dims, types, R"(["","","","","0.","True","","False"])",
       2.0 * 2 * (1 + 2 + 3 + 4) * 16, bytes},
      {"aten::_flash_attention_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", types,
       R"(["","","","","","4","6","0.","True","False","","","","",""])", 2.0 * 2 * (3 + 4 + 5 + 6) * 16, bytes},
      {"aten::_efficient_attention_forward", "[[1,4,2,8],[1,6,2,8],[1,6,2,8]]", types,
       R"(["","","","","","","","","0.","0"])", full, bytes},
      // Two of four queries see nothing.
      {"aten::_flash_attention_forward", "[[1,4,2,8],[1,2,2,8],[1,2,2,8]]", types,
       R"(["","","","","","4","2","0.","True"])", 2.0 * 2 * 3 * 16, 2.0 * (64 + 32 + 32 + 64)},
      {"aten::_scaled_dot_product_flash_attention_backward",
       "[[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4]]",
       R"(["c10::Half","c10::Half","c10::Half","c10::Half"])", R"(["","","","","","","","","4","4","0.","False"])",
       2.5 * 2.0 * 2 * 16 * 16, 2.0 * 64 * 8},
      {"aten::scaled_dot_product_attention", dims, types, "", std::nullopt, std::nullopt},
      {"aten::_flash_attention_forward", "[[8,2,8],[8,2,8],[8,2,8]]", types, R"(["","","","","","4","4","0.","True"])",
       std::nullopt, std::nullopt},
  };
  for (const CallCase& call : calls) Check(call);
}

TEST(OperatorCosts, OfBrokenTextsAreNotKnown) {
  const std::string whole = "[[4,8],[8,2]]";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(CostOfOperator("aten::mm", whole.substr(0, size), "[", "]")) << size;
  }
  EXPECT_FALSE(CostOfOperator("aten::mm", "[[-4,8],[8,2]]", "", ""));
  EXPECT_FALSE(CostOfOperator("aten::mm", "[[99999999999999999999,8],[8,2]]", "", ""));
  EXPECT_FALSE(CostOfOperator("aten::mm", std::string(100'000, '['), "", ""));
  EXPECT_FALSE(CostOfOperator("aten::mm", "{}", "", ""));
  EXPECT_FALSE(CostOfOperator("aten::mm", R"([["a",8],[8,2]])", "", ""));
}

}  // namespace
}  // namespace kprof
