#include "daemon/runs/command/stored_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(SecretValue, IsKnownByItsLook) {
  const std::string long_word(40, 'a');
  const std::string cases[] = {
      "ghp_" + long_word,
      "github_pat_" + long_word,
      "glpat-" + long_word,
      "hf_" + long_word,
      "sk-" + long_word,
      "xoxb-1234567890",
      "AKIAABCDEFGHIJKLMNOP",
      "eyJ" + long_word + ".eyJ" + long_word,
      "--x=1 --auth hf_" + long_word,
      "-----BEGIN OPENSSH PRIVATE KEY-----",
      "--token=abc",
      "--remote_api_key=abc --other=1",
      "a=1,Password=x",
      "https://user:pass@host/path",
      "https://token@host",
      "ftp://u:p/w@host",
      "http://proxy:1,https://u:p@proxy:2",
      "--xla_dump_to=s3://id:key@bucket --xla_x=1",
  };
  for (const std::string& value : cases) EXPECT_TRUE(LooksSecret(value)) << value;
}

TEST(SecretValue, IsNotSeenInWhatExplainsAMeasurement) {
  const char* const cases[] = {
      "",
      "/usr/bin:/bin:/opt/hf_transformers_environment/bin:/home/a/sk-learn-environment-py311/bin",
      "/home/a/task-ASIA/eyJ",
      "--xla_disable_hlo_passes=fusion --xla_gpu_autotune_level=0",
      "--max_tokens=128",
      "--token=",
      "--token= --x=1",
      "https://host/path",
      "tcp://10.0.0.1:29500",
      "user@host",
      "a@b,tcp://host",
      "GPU-6d0a1b2c-1111-2222-3333-444455556666",
  };
  for (const char* value : cases) EXPECT_FALSE(LooksSecret(value)) << value;
}

}  // namespace
}  // namespace kprof
