#include "daemon/runs/stored_environment.h"

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

TEST(StoredEnvironment, SortsAndCutsLongValues) {
  auto stored = StoredEnvironment({"RANK=1", "SECRET=x", "PATH=" + std::string(10000, 'p')});
  EXPECT_THAT(stored, ElementsAre(Pair("PATH", std::string(4096, 'p')), Pair("RANK", "1")));
}

}  // namespace
}  // namespace kprof
