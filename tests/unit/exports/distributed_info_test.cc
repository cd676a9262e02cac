#include "daemon/exports/chrome_export_facts.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(DistributedInfo, SaysTheRankThatTheRunKnows) {
  const struct {
    const char* json;
    const char* expected;
  } cases[] = {
      {R"({"rank":3,"world_size":8})", R"({"rank":7,"world_size":8})"},
      {R"({"backend":"nccl","rank":3})", R"({"backend":"nccl","rank":7})"},
      {R"({"rank":7,"world_size":8})", R"({"rank":7,"world_size":8})"},
      {R"({"rank":"7"})", R"({"rank":"7"})"},
      {R"({"rank":"3"})", R"({"rank":7})"},
      {R"({"rank":{"a":[1,"}"]},"x":1})", R"({"rank":7,"x":1})"},
      {R"({"pg":[{"rank":3},"\"rank\":3"],"rank":3})", R"({"pg":[{"rank":3},"\"rank\":3"],"rank":7})"},
      {R"({"world_size":8})", R"({"world_size":8,"rank":7})"},
      {"{}", R"({"rank":7})"},
      {"null", R"({"rank":7})"},
      {"", R"({"rank":7})"},
      {R"({"rank)", R"({"rank":7})"},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(DistributedInfoOf(json, 7), expected) << json;
}

TEST(DistributedInfo, StaysWhereNoRankIsKnown) {
  EXPECT_EQ(DistributedInfoOf(R"({"world_size":8})", std::nullopt), R"({"world_size":8})");
}

}  // namespace
}  // namespace kprof
