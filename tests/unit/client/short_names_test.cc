#include "client/cli/text/short_names.h"

#include <gtest/gtest.h>

#include <set>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

TEST(ShortNames, CutsTheMiddle) {
  ShortNames names(20);
  EXPECT_EQ(names.Shorten("short"), "short");
  EXPECT_EQ(names.Shorten("void gemm<float, 128, 64>(int)"), "void gemm...64>(int)");
  EXPECT_EQ(names.Shorten("void gemm<float, 128, 64>(int)"), "void gemm...64>(int)") << "the same name again";
}

TEST(ShortNames, ShowsWhereTheyDifferWhereEndsAreTheSame) {
  ShortNames names(24);
  EXPECT_EQ(names.Shorten("void gemm_kernel<float, 128, 64>(int)"), "void gemm_k..., 64>(int)");
  EXPECT_EQ(names.Shorten("void gemm_kernel<float, 256, 64>(int)"), "void g...256, 6...>(int)");
}

TEST(ShortNames, ThoseThatDifferStayDifferentAndFit) {
  for (size_t width : {1, 5, 10, 16, 24, 60}) {
    ShortNames names(width);
    std::set<std::string> short_names;
    const size_t count = width < 8 ? 5 : 300;
    for (size_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(1000 + i);
      const std::string name =
          "void a_kernel_with_a_long_name<" + number + std::string(30, 'x') + ">(Tensor const&, int)";
      const std::string text = names.Shorten(name);
      short_names.insert(text);
      EXPECT_TRUE(width < 10 || WidthOf(text) <= width) << text;
      EXPECT_EQ(names.Shorten(name), text);
    }
    EXPECT_EQ(short_names.size(), count) << width;
  }
}

TEST(ShortNames, LeavesAllAsTheyAreWithoutAWidth) {
  EXPECT_EQ(ShortNames().Shorten(std::string(500, 'x')), std::string(500, 'x'));
}

}  // namespace
}  // namespace kprof::cli
