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
  EXPECT_EQ(Without("declare -x HF_TOKEN=\"ab\\\"cd\"\ndeclare -x A_B=\"x\\\\\" y"), "declare -x \ndeclare -x  y");
  EXPECT_EQ(Without("export A_B='x'y HOME='/a'\"'\"'b' z"), "export   z");
  EXPECT_EQ(Without("env DB_PASSWORD=pa,ss{w}rd python"), "env  python");
  EXPECT_EQ(Without("f(HOME=/x,A_B=y), g"), "f(,), g");
  EXPECT_EQ(Without("['HOME=\"/x y\"', 'A_B=c', 'run']"), "['', '', 'run']");
  EXPECT_EQ(Without("HF_TOKEN=\"ab cd"), "");
  EXPECT_EQ(Without("HOME=/r\0SSH_PRIVATE_KEY=---\nMII= e\n---\0USER=me\0"s), "\0\0\0"s);
}

TEST(EnvironmentSettingsTest, AQuoteThatIsNoneHidesNothing) {
  EXPECT_EQ(Without("PS1=\"> \nHOME=/x\nA_B=c\nB_C=it's\nC_D=\"y\nend"), "\nend");
  EXPECT_EQ(Without("PS1='\nHOME=/x"), "\n");
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
