#include "client/cli/output.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(ErrorJson, IsAnObjectOfItsOwnOrAMember) {
  const Status failure = Fail(ErrorCode::kNotFound, "show run x", "there is none");
  EXPECT_EQ(ErrorJsonLine(failure),
            R"({"schema":"kprof.error.v1","code":"not_found","message":"show run x: there is none","remedy":null})"
            "\n");
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("runs").BeginArray().EndArray();
  WriteErrorMember(json, Fail(ErrorCode::kNotFound, "show run x", "there is none", "look"));
  json.EndObject();
  EXPECT_EQ(text, R"({"runs":[],"error":{"code":"not_found","message":"show run x: there is none","remedy":"look"}})");
}

}  // namespace
}  // namespace kprof::cli
