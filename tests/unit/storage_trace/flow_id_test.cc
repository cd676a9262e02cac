#include "storage/trace/format/flow_rules.h"

#include <gtest/gtest.h>

#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

TEST(FlowId, OfANumberIsTheNumberAsItIsWritten) {
  for (const char* text : {"0", "7", "4711", "2305843009213693951", "0x0", "0x7b", "0x1fffffffffffffff"}) {
    const std::optional<int64_t> id = NumberedFlowId(text);
    ASSERT_TRUE(id.has_value()) << text;
    EXPECT_TRUE(IsNumberedFlow(*id)) << text;
    EXPECT_NE(*id, kNoValue) << text;
    EXPECT_EQ(NumberedFlowText(*id), text);
  }
  EXPECT_NE(NumberedFlowId("17"), NumberedFlowId("0x11"));
}

TEST(FlowId, OfAllOthersIsAString) {
  for (const char* text : {"", "00", "07", "-1", "+1", "1.0", "1e3", "0x", "0x07", "0X7b", "0x7B", "x", "1 5", "7b",
                           "2305843009213693952", "0x2000000000000000", "99999999999999999999", "NaN"}) {
    EXPECT_EQ(NumberedFlowId(text), std::nullopt) << text;
  }
  EXPECT_FALSE(IsNumberedFlow(0));
  EXPECT_FALSE(IsNumberedFlow(5));
}

}  // namespace
}  // namespace kprof
