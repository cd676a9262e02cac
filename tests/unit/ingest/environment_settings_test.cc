#include "daemon/ingest/environment_settings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace kprof {
namespace {

using namespace std::string_literals;

std::string Without(const std::string& text) {
  return WithoutSettings(text).value_or("as it was");
}

TEST(EnvironmentSettingsTest, WhatPrintenvPrintsGoesLineByLine) {
  EXPECT_EQ(Without("PATH=/usr/bin\nHOME=/home/who\nHF_TOKEN=s"), "\n\n");
  EXPECT_EQ(Without("rank 3 of:\nMY_URL=postgres://a b; c\nHOME=/home/who\nhello"), "rank 3 of:\n\n\nhello");
  EXPECT_EQ(Without("A_B=x C_D=y\r\nPWD=/\r\n"), "\r\n\r\n");
  EXPECT_EQ(Without("A_B=x\0SHELL=/bin/sh\0C_D=\0"s), "\0\0\0"s);
}

TEST(EnvironmentSettingsTest, BeforeACommandOrBesideOthersItIsTheWordsThatGo) {
  EXPECT_EQ(Without("env AWS_SECRET_ACCESS_KEY=s N=4 python train.py"), "env   python train.py");
  EXPECT_EQ(Without("export PATH=/usr/bin:$PATH; export A_B='x y' && run"), "export ; export  && run");
  EXPECT_EQ(Without("environment: HOME=\"/home/who else\", HF_TOKEN=s"), "environment: , ");
  EXPECT_EQ(Without("[rank0] HOME=/x {A_B=y}"), "[rank0]  {}");
  EXPECT_EQ(Without("https://x/?a=b HOME=/x"), "https://x/?a=b ");
}

TEST(EnvironmentSettingsTest, AValueEndsWhereAShellEndsIt) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(declare -x HF_TOKEN="ab\"cd" z)", "declare -x  z"},
      {R"(export A_B="x\\" y HOME=/x)", "export  y "},
      {R"(declare -x SSH_KEY=$'---\nMII\'s e' HOME=/x)", "declare -x  "},
      {R"(export A_B='x'y HOME='/a'"'"'b' z)", "export   z"},
      {R"(env DB_PASSWORD=ab'cd ef'gh python)", "env  python"},
      {R"(env DB_PASSWORD=ab"cd" python)", "env  python"},
      {R"(env DB_PASSWORD=ab\ cd python)", "env  python"},
      {R"(A_B='it'\''s' HOME=/x)", " "},
      {"export A_B='x\ny z' HOME=/x", "export  "},
      {"HF_TOKEN=\"ab cd", ""},
      {"env DB_PASSWORD=ab\\", "env "},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Without(text), expected) << text;
}

TEST(EnvironmentSettingsTest, MarksOfListsAreOfAValueThatDoesNotStandInOne) {
  const std::pair<std::string, std::string> cases[] = {
      {"env DB_PASSWORD=pa,ss{w}rd python", "env  python"},
      {"env DB_PASSWORD=pa}ss python", "env  python"},
      {"env DB_PASSWORD={secret} run", "env  run"},
      {"env DB_PASSWORD=,secret run", "env  run"},
      {R"(env DB_PASSWORD={"user":"x","pw":"se cret"} HOME=/x)", "env  "},
      {"f(HOME=/x,A_B=y), g", "f(), g"},
      {"{HOME=/x},{rank=3} end", "{},{rank=3} end"},
      {"{A_B=f(1),HOME=/x}, {rank=3}", "{}, {rank=3}"},
      {"['HOME=\"/x y\"', 'A_B=c', 'run']", "['', '', 'run']"},
      {"(HOME=)", "as it was"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Without(text), expected) << text;
}

TEST(EnvironmentSettingsTest, LinesAreOfSettingsWhateverQuotesAreInThem) {
  EXPECT_EQ(Without("PS1=\"> \nHOME=/x\nA_B=c\nB_C=it's\nC_D=\"y z\nend"), "\n\n\n\n\nend");
  EXPECT_EQ(Without("A_B='x\nHOME=/home/who\nPASS_PHRASE=don't tell anyone"), "\n\n");
  EXPECT_EQ(Without("PS1='\nHOME=/x"), "\n");
}

TEST(EnvironmentSettingsTest, ZerosEndLinesWhereSettingsStandBehindThem) {
  EXPECT_EQ(Without("HOME=/r\0A_B=---\nMII= e\n---\0USER=me\0"s), "\0\0\0"s);
  EXPECT_EQ(Without("HOME=/r\nA_B=correct horse\nB_C=1\n\0\n"s), "\n\n\n\0\n"s);
}

TEST(EnvironmentSettingsTest, AKeyGoesToItsLastLine) {
  const std::string key = "-----BEGIN KEY-----\nMII e\nabc=\n-----END KEY-----";
  EXPECT_EQ(Without("A_B=" + key + "\nHOME=/x\nhello"), "\n\nhello");
  EXPECT_EQ(Without("HOME=/x\nA_B=" + key + "\nhello"), "\n\nhello");
  EXPECT_EQ(Without("HOME=/x\nA_B=-----BEGIN KEY-----\nhello"), "\n\nhello");
}

// Of some MB, any of these took minutes where what is looked for in vain is looked for again.
TEST(EnvironmentSettingsTest, HostileTextsTakeNoLongerThanOthers) {
  for (const char* piece : {"AB=''\\\"z\n", "AB='x\n", "AB=x' ", "AB=x\" ", "AB=\"\\\" ", "AB=((( ", "AB=-----BEGIN\n",
                            "AB=$'\\' ", "AB=", "AB=\"", "AB=x\"\\"}) {
    std::string text;
    while (text.size() < 4'000'000) text += piece;
    const size_t size = text.size();
    EXPECT_LT(Without(text + "\nHOME=/x").size(), size) << piece;
  }
}

TEST(EnvironmentSettingsTest, ListedVariablesGoToo) {
  EXPECT_EQ(Without("HOME=/x NCCL_ALGO=Ring B_C=1"), "  ");
  EXPECT_EQ(Without("NCCL_ALGO=Ring"), "as it was");  // nothing tells that it is one
}

TEST(EnvironmentSettingsTest, AllElseStays) {
  for (const char* text : {"", "M=16 N=32 K=64", "BLOCK_M=128, BLOCK_N=64", "if (HOME==x) PATH == y", "--HOME=/x",
                           "x.HOME=/x", "HOME=", "NUM_TOKEN=128 MAX_NEW_TOKEN=64", "myHOME=1", "$HOME=1", "a=b HOME",
                           "gemm<M=16>", "https://host/?PATHS=1"}) {
    EXPECT_EQ(Without(text), "as it was") << text;
  }
}

TEST(EnvironmentSettingsTest, WhatMayHaveSomeIsToldCheaply) {
  EXPECT_TRUE(MayHaveSettings("x HOME=/x"));
  for (const char* text : {"", "=", "A=", "a=b", "void f<int, (M)1>(x == y)", "aten::mm"}) {
    EXPECT_FALSE(MayHaveSettings(text)) << text;
  }
}

}  // namespace
}  // namespace kprof
