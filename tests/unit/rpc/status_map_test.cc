#include "daemon/rpc/messages/status_message.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/error_detail.h"

namespace kprof {
namespace {

TEST(StatusMap, SuccessIsOk) {
  EXPECT_TRUE(ToGrpc(OkStatus()).ok());
}

TEST(StatusMap, CarriesCodeAndAllFourPartsForEveryError) {
  for (int i = static_cast<int>(ErrorCode::kInternal); i <= static_cast<int>(ErrorCode::kStorageBroken); ++i) {
    auto code = static_cast<ErrorCode>(i);
    grpc::Status status = ToGrpc(Fail(code, "what", "why", "remedy"));
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(CanonicalOf(code)));
    EXPECT_EQ(status.error_message(), "what: why; remedy");
    v1::ErrorDetail detail = DetailOf(status);
    EXPECT_EQ(detail.code(), ErrorName(code));
    EXPECT_EQ(detail.what(), "what");
    EXPECT_EQ(detail.why(), "why");
    EXPECT_EQ(detail.remedy(), "remedy");
  }
}

TEST(StatusMap, FitsIntoATrailerHoweverLongTheTextIs) {
  const std::string text(100'000, 'x');
  grpc::Status status = ToGrpc(Fail(ErrorCode::kUsage, text, text, text));
  EXPECT_LT(status.error_message().size() + status.error_details().size() * 4 / 3, 8000u);
  EXPECT_EQ(DetailOf(status).code(), "usage");
}

TEST(StatusMap, MakesBytesReadable) {
  EXPECT_EQ(DetailOf(ToGrpc(Fail(ErrorCode::kNotFound, "open \xff", "\xc3\xa4"))).what(), "open \\xff");
}

}  // namespace
}  // namespace kprof
