#include "daemon/ingest/text/private_names.h"

#include <gtest/gtest.h>

#include <utility>

namespace kprof {
namespace {

TEST(EnvironmentNamesTest, AnyWordOfANameMakesItOneOfAnEnvironment) {
  for (const char* name : {"env",
                           "ENV",
                           "environment",
                           "Environment",
                           "worker_env",
                           "user_environment",
                           "process.env",
                           "my.worker_env",
                           "WORKER_ENV",
                           "workerEnv",
                           "CUDAEnv",
                           "rank_env_map",
                           "envs_by_rank",
                           "EnvironmentBlock",
                           "environment dump",
                           "env dict",
                           "env0",
                           "rank3env",
                           "num_envs",
                           "env_step",
                           "environment_id",
                           "UNKNOWN_ENV",
                           "targetEnv",
                           "TARGET_INFO_PROCESS_ENV",
                           "a.b_env",
                           "a__env_",
                           "CONDA_ENV_PATH",
                           "NUM_ENVS_MAX",
                           "ENVS_MAX",
                           "ENV_step",
                           "env(rank 0)"}) {
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kWord) << name;
    EXPECT_TRUE(HasEnvironmentWord(name)) << name;
  }
}

TEST(EnvironmentNamesTest, SomeNamesAreOfVariables) {
  for (const char* name : {"environ", "os.environ", "envp", "env_vars", "envVars", "env-vars", "Environment Variables",
                           "EnvironmentVariables", "environVars", "env_vars_list", "launchEnvVars",
                           "PROCESS_0:ENVIRONMENT_VARIABLE", "num_env_vars", "ENV_VARS"}) {
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kVariables) << name;
  }
}

TEST(EnvironmentNamesTest, SomeNamesHoldThatOfAVariable) {
  const std::pair<const char*, const char*> cases[] = {
      {"env_HOME", "HOME"},
      {"environ_HOME", "HOME"},
      {"ENV_TOKEN", "TOKEN"},
      {"ENVIRONMENT_API_KEY", "API_KEY"},
      {"metadata.ENV_TOKEN", "TOKEN"},
      {"worker_env_AWS_KEY", "AWS_KEY"},
      {"env.PATH", "PATH"},
      {"env:HOME", "HOME"},
      {"metadata.env.AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"},
      {"os.environ.http_proxy", "http_proxy"},
      {"process_env/HOME", "HOME"},
  };
  for (const auto& [name, variable] : cases) {
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kVariable) << name;
    EXPECT_EQ(VariableOf(name), variable) << name;
  }
  for (const char* name : {"", "env", "ENVS_MAX", "CONDA_ENV_PATH", "env_step", "env.", "env_Step", "HOME"})
    EXPECT_EQ(VariableOf(name), "") << name;
}

TEST(EnvironmentNamesTest, VariablesThatAnyProcessHasAndSecretsAreSome) {
  for (const char* name : {"HOME", "PATH", "USER", "LD_LIBRARY_PATH", "HF_TOKEN", "MY_API_KEY", "AWS_SESSION_TOKEN"}) {
    EXPECT_TRUE(TellsOfEnvironment(name)) << name;
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kVariables) << name;
  }
  for (const char* name : {"", "home", "Path", "HOMES", "NUM_TOKEN", "MAX_NEW_TOKEN", "M", "NCCL_ALGO", "a.HOME"}) {
    EXPECT_FALSE(TellsOfEnvironment(name)) << name;
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kNone) << name;
  }
}

TEST(EnvironmentNamesTest, OtherNamesStay) {
  for (const char* name :
       {"", "_", ".", "envelope", "envoy_name", "deviceProperties", "environmental", "venv", "inventory", "ENVELOPE",
        "sevenEnvelopes", "ENUM_CUDA", "EVENT", "Environs", "getenv", "CUPTI_ACTIVITY_KIND_KERNEL"}) {
    EXPECT_EQ(EnvironmentNameOf(name), EnvironmentName::kNone) << name;
  }
}

TEST(EnvironmentNamesTest, NamesOfEventsSayHowSureItIs) {
  for (const char* name : {"env", "environment", "Environment", "process_env", "os.environ", "job: env_vars"})
    EXPECT_EQ(EnvironmentEventOf(name), EnvironmentEvent::kWhole) << name;
  for (const char* name : {"worker_env", "reset_env", "launch env vars"})
    EXPECT_EQ(EnvironmentEventOf(name), EnvironmentEvent::kLast) << name;
  for (const char* name : {"env_step", "env.step", "num_envs", "environment dump"})
    EXPECT_EQ(EnvironmentEventOf(name), EnvironmentEvent::kWord) << name;
  for (const char* name : {"", "envelope", "gym/env.py(12): env", "void step<env>(int)", "f(env)"})
    EXPECT_EQ(EnvironmentEventOf(name), EnvironmentEvent::kNone) << name;
}

}  // namespace
}  // namespace kprof
