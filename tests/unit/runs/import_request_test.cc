#include "daemon/runs/imports/import_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportRequest Good() {
  ImportRequest request;
  request.sources = {{"ticket", "a.json", std::nullopt}};
  request.format = "auto";
  return request;
}

TEST(CheckImportRequest, TakesAGoodOne) {
  EXPECT_TRUE(CheckImportRequest(Good()).ok());
}

TEST(CheckImportRequest, RefusesWhatIsOverItsLimits) {
  const std::pair<std::function<void(ImportRequest&)>, const char*> cases[] = {
      {[](ImportRequest& r) { r.sources.clear(); }, "no source"},
      {[](ImportRequest& r) { r.sources.resize(1025, r.sources[0]); }, "1025 sources"},
      {[](ImportRequest& r) { r.sources[0].name = "folder/"; }, "no name"},
      {[](ImportRequest& r) { r.sources[0].name = std::string(1025, 'a'); }, "1024 bytes"},
      {[](ImportRequest& r) { r.sources[0].name = std::string("a\0b", 3); }, "zero byte"},
      {[](ImportRequest& r) { r.sources[0].rank = -1; }, "rank -1"},
      {[](ImportRequest& r) { r.format = ""; }, "no format"},
      {[](ImportRequest& r) { r.format = "otf2"; }, "no format"},
      {[](ImportRequest& r) { r.idempotency_key = std::string(65, 'a'); }, "idempotency key"},
      {[](ImportRequest& r) { r.labels["a b"] = "c"; }, "label"},
  };
  for (const auto& [change, says] : cases) {
    ImportRequest request = Good();
    change(request);
    const Status refused = CheckImportRequest(request);
    EXPECT_EQ(refused.code(), ErrorCode::kUsage) << says;
    EXPECT_THAT(refused.ToString(), HasSubstr(says));
  }
}

TEST(CommandOf, ShowsOptionsAndNames) {
  ImportRequest request = Good();
  EXPECT_THAT(CommandOf(request, request.sources), ElementsAre("import", "a.json"));
  request.format = "kineto";
  request.keep_sources = true;
  request.sources[0].name = "/home/x/b.json";
  request.sources[0].rank = 3;
  EXPECT_THAT(CommandOf(request, request.sources),
              ElementsAre("import", "--format", "kineto", "--keep-source", "--rank", "3", "b.json"));
}

}  // namespace
}  // namespace kprof
