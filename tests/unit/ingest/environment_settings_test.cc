#include "daemon/ingest/text/printed_text.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using namespace std::string_literals;

TEST(EnvironmentSettingsTest, WhatPrintsAnEnvironmentTells) {
  for (const std::string& text : {
           "PATH=/usr/bin\nHOME=/home/who\nHF_TOKEN=s"s,  // printenv
           "A_B=x\0SHELL=/bin/sh\0C_D=\0"s,               // /proc/PID/environ
           "rank 3 of:\nMY_URL=postgres://a b; c\r\nPWD=/\r\nhello"s,
           "0: A_B=x\n0: HOME=/x"s,                               // srun -l
           "environment:\n  - A_B=correct horse\n  - HOME=/x"s,   // compose
           "export HOME='/x'\nexport A_B='it'\"'\"'s\nsecret'"s,  // dash's export -p
           "declare -x HF_TOKEN=\"ab\\\"cd\""s,                   // bash's
           "declare -x SSH_PRIVATE_KEY=$'---\\nMII'"s,
           "+ export 'DB_PASSWORD=correct horse'"s,  // what a shell traces
           "b'A_B=1\\nHF_TOKEN=hf_abc\\n'"s,         // bytes, as Python prints them
           "b'A_B=1\\x00HF_TOKEN=hf_abc\\x00'"s,
           "\x1b[32mHF_TOKEN\x1b[0m=abc \x1b[1;32mHF_TOKEN=abc"s,
       }) {
    EXPECT_TRUE(SetsVariables(text)) << text;
    EXPECT_TRUE(MayHaveSettings(text)) << text;
  }
}

TEST(EnvironmentSettingsTest, SoDoesACommandWithSettings) {
  for (const char* text :
       {"env AWS_SECRET_ACCESS_KEY=s N=4 python train.py", "export PATH=/usr/bin:$PATH; export A_B='x y' && run",
        "env \"DB_PASSWORD=correct horse\" python", "env DB_PASSWORD={secret} run", "env DB_PASSWORD=,secret run",
        "docker run -eHF_TOKEN=hf_abc img", "srun --export=ALL,HF_TOKEN=abc x", "[rank0] HOME=/x {A_B=y}",
        "f(HOME=/x,A_B=y)", "https://x/?a=b HOME=/x", "HF_TOKEN=\"ab", "DB_PASSWORD==Zk3x9"}) {
    EXPECT_TRUE(SetsVariables(text)) << text;
    EXPECT_TRUE(MayHaveSettings(text)) << text;
  }
}

TEST(EnvironmentSettingsTest, OtherTextsDoNot) {
  for (const char* text :
       {"", "M=16 N=32 K=64", "BLOCK_M=128, BLOCK_N=64", "if (HOME==x) PATH == y", "--HOME=/x", "x.HOME=/x",
        "HOME=", "HOME= x", "(HOME=)", "NUM_TOKEN=128 MAX_NEW_TOKEN=64", "myHOME=1", "$HOME=1", "a=b HOME",
        "gemm<M=16>", "https://host/?PATHS=1", "NCCL_ALGO=Ring", "HOMES=/x", "the=HOME", "[32mHOME=/x"}) {
    EXPECT_FALSE(SetsVariables(text)) << text;
  }
}

TEST(EnvironmentSettingsTest, WhatMayHaveSomeIsToldCheaply) {
  EXPECT_TRUE(MayHaveSettings("x HOME=/x"));
  for (const char* text : {"", "=", "A=", "a=b", "void f<int, (M)1>(x == y)", "aten::mm"}) {
    EXPECT_FALSE(MayHaveSettings(text)) << text;
  }
}

// Of some MB, any of these took minutes where what is looked for in vain is looked for again.
TEST(EnvironmentSettingsTest, HostileTextsTakeNoLongerThanOthers) {
  for (const char* piece : {"AB=", "AB=((((", "HOME=( ", "HOME= ", "\x1b[1;mHOME= ", "1", "A", "\x1b[1;"}) {
    std::string text;
    while (text.size() < 4'000'000) text += piece;
    EXPECT_FALSE(SetsVariables(text + "= ")) << piece;
  }
}

}  // namespace
}  // namespace kprof
