// Names of private data in a source: environments of the profiled processes, and facts about the person who ran them.
// No reader keeps an environment, and no export lets one out. An import keeps a few variables (kKeptEnvironment), which
// exports leave out, too. environment_text.h decides which part of a value goes.
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kprof {

// The environment variables of a profiled process that an import keeps, where the value is a number or a word: they say
// how a GPU program was set up. All others are dropped where they are read: traces are passed on, and environments hold
// secrets. Only these very names count, none that begins alike: TF_CONFIG and NCCL_COMM_ID hold addresses, XLA_FLAGS
// holds paths.
inline constexpr std::string_view kKeptEnvironment[] = {
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUDNN_BENCHMARK",
    "GPU_MAX_HW_QUEUES",
    "GROUP_RANK",
    "HIP_FORCE_DEV_KERNARG",
    "HIP_LAUNCH_BLOCKING",
    "HIP_VISIBLE_DEVICES",
    "HSA_ENABLE_SDMA",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "HSA_NO_SCRATCH_RECLAIM",
    "HSA_OVERRIDE_GFX_VERSION",
    "HSA_XNACK",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MIOPEN_FIND_MODE",
    "MKL_NUM_THREADS",
    "MKL_THREADING_LAYER",
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_IB_DISABLE",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_TC",
    "NCCL_IB_TIMEOUT",
    "NCCL_LAUNCH_MODE",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_PXN_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_NTHREADS",
    "NEURON_FUSE_SOFTMAX",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    "NEURON_RT_EXEC_TIMEOUT",
    "NEURON_RT_NUM_CORES",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN",
    "NEURON_RT_VISIBLE_CORES",
    "NODE_RANK",
    "NVIDIA_TF32_OVERRIDE",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO",
    "NVTE_FLASH_ATTN",
    "NVTE_FUSED_ATTN",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "RANK",
    "RCCL_MSCCL_ENABLE",
    "RCCL_MSCCLPP_ENABLE",
    "ROCR_VISIBLE_DEVICES",
    "TENSILE_SOLUTION_SELECTION_METHOD",
    "TF_CUDNN_DETERMINISTIC",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_GPU_THREAD_MODE",
    "TORCHINDUCTOR_COORDINATE_DESCENT_TUNING",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_HIPBLASLT",
    "TORCH_CUDNN_V8_API_ENABLED",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_AVOID_RECORD_STREAMS",
    "TORCH_NCCL_BLOCKING_WAIT",
    "TORCH_NCCL_HIGH_PRIORITY",
    "TRITON_INTERPRET",
    "UCX_TLS",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_USE_V1",
    "VLLM_WORKER_MULTIPROC_METHOD",
    "WORLD_SIZE",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
};

inline bool IsKeptEnvironment(std::string_view name, std::string_view value) {
  constexpr size_t kLongestSetting = 200;
  const auto is_of_path = [](char c) { return c == '/' || c == '\\' || c == '@'; };
  if (value.size() > kLongestSetting || std::any_of(value.begin(), value.end(), is_of_path)) return false;
  return std::find(std::begin(kKeptEnvironment), std::end(kKeptEnvironment), name) != std::end(kKeptEnvironment);
}

// True for names of data that tells who ran a program, where, and with which words: users, hosts, folders, command
// lines. A value under such a name is dropped unless a rule says that it is kept. Case does not matter, nor do _, - and
// spaces between words.
bool IsPersonalName(std::string_view name);

// A quick check, for texts that come often: false when no word of `text` is one of an environment's (env, environ...).
bool MayHaveEnvironmentWord(std::string_view text);

// How a name says that its value is of an environment.
enum class EnvironmentName : uint8_t {
  kNone,
  kWord,       // by one of its words (env, rank_env_map, EnvironmentBlock, env_id): the value decides
  kVariables,  // it names variables: environ, env_vars, envp; or is one that any environment has, or a secret: HOME
  kVariable,   // it names one variable: env_HOME, metadata.env.AWS_SECRET_ACCESS_KEY
};

// Words end at characters that are neither letter nor digit, and where a capital or a number begins. Case does not
// matter, with one exception: in env_HOME and ENV_HOME the variable is in upper case, and an ENV (or ENVIRONMENT) in
// upper case must begin the name.
EnvironmentName EnvironmentNameOf(std::string_view name);

// True for all but kNone. For names of tables and columns, whose values are not looked at.
inline bool HasEnvironmentWord(std::string_view name) {
  return EnvironmentNameOf(name) != EnvironmentName::kNone;
}

// The variable in a name that is kVariable: HOME. Empty for other names.
std::string_view VariableOf(std::string_view name);
// True for HOME, false for home. A value under such a name is a variable's even if it is a number.
bool IsVariableName(std::string_view name);

// True for HOME, HF_TOKEN: variables that any process has, and secrets. If a text or an object has one of these, the
// other variables in it are of an environment, too.
bool TellsOfEnvironment(std::string_view name);

// How the name of an event says that its arguments are of an environment.
enum class EnvironmentEvent : uint8_t {
  kNone,
  kWord,  // by one of its words, as env_step: the arguments decide
  kLast,  // by its last word: worker_env
  kWhole  // as a whole: environment, os.environ, process_env
};
// Names of functions and of files are kNone, whatever words they have.
EnvironmentEvent EnvironmentEventOf(std::string_view name);

}  // namespace kprof
