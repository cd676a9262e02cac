#include "daemon/runs/command/stored_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(StoredEnvironment, KeepsWhatExplainsAMeasurement) {
  for (const char* name :
       {"PATH", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "NEURON_RT_NUM_CORES", "RANK", "OMP_NUM_THREADS"}) {
    EXPECT_TRUE(IsStoredVariable(name)) << name;
  }
}

TEST(StoredEnvironment, NeverKeepsASecretWhateverItsPrefix) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "CUDA_TOKEN", "NCCL_AUTH", "TORCH_HUB_PASSWORD", "HF_TOKEN",
                           "SLURM_JOB_CREDENTIAL", "HOME", "SSH_AUTH_SOCK", "XLA_PRIVATE"}) {
    EXPECT_FALSE(IsStoredVariable(name)) << name;
  }
}

TEST(StoredEnvironment, KnowsSecretsByTheirNames) {
  struct Case {
    const char* name;
    bool secret;
  };
  const Case cases[] = {
      {"HF_TOKEN", true},
      {"hf_token", true},
      {"Nccl_Secret", true},
      {"DB_PASS", true},
      {"PGPASSWORD", true},
      {"MYSQL_PASSWD", true},
      {"SSH_PASSPHRASE", true},
      {"MYSQL_PWD", true},
      {"PWD_OF_DB", true},
      {"SLURM_JOB_CRED", true},
      {"GOOGLE_APPLICATION_CREDENTIALS", true},
      {"HTTP_AUTHORIZATION", true},
      {"SSH_AUTH_SOCK", true},
      {"api_key", true},
      {"SESSION_COOKIE", true},
      {"cuda_private_x", true},
      {"NVIDIA_LICENSE_X", true},
      {"JAX_BEARER", true},
      {"PWD", false},
      {"OLDPWD", false},
      {"PATH", false},
      {"CUDA_VISIBLE_DEVICES", false},
      {"NCCL_DEBUG", false},
      {"", false},
  };
  for (const Case& c : cases) EXPECT_EQ(IsSecretName(c.name), c.secret) << c.name;
}

TEST(StoredEnvironment, DropsWhatLogsInAlsoBehindWhereItIsCut) {
  auto stored = StoredEnvironment({"NCCL_PROXY=http://u:p@h", "XLA_FLAGS=http://u:" + std::string(10000, 'p') + "@h",
                                   "TORCH_URL=http://h", "Cuda_x=1", "CUDA_pass=2"});
  EXPECT_THAT(stored, ElementsAre(Pair("TORCH_URL", "http://h")));
}

TEST(StoredEnvironment, DropsWhatLooksSecretUnderAnyName) {
  EXPECT_TRUE(StoredEnvironment({"XLA_FLAGS=--remote_token=abc", "TORCH_X=hf_" + std::string(34, 'a')}).empty());
}

TEST(StoredEnvironment, SortsAndCutsLongValues) {
  auto stored = StoredEnvironment({"RANK=1", "SECRET=x", "PATH=" + std::string(10000, 'p')});
  EXPECT_THAT(stored, ElementsAre(Pair("PATH", std::string(4096, 'p')), Pair("RANK", "1")));
}

}  // namespace
}  // namespace kprof
