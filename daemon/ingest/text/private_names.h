// By which names what a source says is of an environment: that of who was profiled, which no reader keeps and no export
// lets out. What of a value goes is environment_text.h's; of each import a few variables are kept (private_names.h),
// which do not leave either.
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace kprof {

// Which environment variables of a profiled process an import keeps: those by these very names, which say how a GPU
// program was set up, where their values are a number or a word. All others are dropped where they are read, as traces
// are passed on and environments hold what nobody would pass on. Names that only begin alike say nothing: TF_CONFIG and
// NCCL_COMM_ID hold addresses, XLA_FLAGS paths.
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

// Names of what tells who ran a program, where, and with what words: users, hosts, folders, command lines. What a
// source has under such a name is dropped where nothing says that it is kept.
//
// Pure; any thread.

// Upper and lower case are the same here, and so are words together and with _, - or spaces between them.
bool IsPersonalName(std::string_view name);

// For what comes often: false where no word of a text can be one.
bool MayHaveEnvironmentWord(std::string_view text);

enum class EnvironmentName : uint8_t {
  kNone,
  kWord,       // one of its words says so (env, rank_env_map, EnvironmentBlock, env_id): what it holds decides
  kVariables,  // it names variables: environ, env_vars, envp; or is one that any environment has, or a secret: HOME
  kVariable,   // or one of them: env_HOME, metadata.env.AWS_SECRET_ACCESS_KEY
};

// Words end at what is no letter, and where a capital or a number begins; upper and lower case are the same, but in
// env_HOME and ENV_HOME, whose variable is in upper case; ENV (or ENVIRONMENT) in upper case begins the name then.
EnvironmentName EnvironmentNameOf(std::string_view name);

// Any but kNone: of tables and their columns, nobody asks what they hold.
inline bool HasEnvironmentWord(std::string_view name) {
  return EnvironmentNameOf(name) != EnvironmentName::kNone;
}

// Of a name that is kVariable: HOME. Empty of others.
std::string_view VariableOf(std::string_view name);
// HOME, not home: of those a number is one's value, too.
bool IsVariableName(std::string_view name);

// HOME, HF_TOKEN: where a text or an object has one of these, what it says of other variables is of an environment,
// too.
bool TellsOfEnvironment(std::string_view name);

// Of events, whose arguments may be variables.
enum class EnvironmentEvent : uint8_t {
  kNone,
  kWord,  // one of its words says so, as env_step: what its arguments are decides
  kLast,  // the last one: worker_env
  kWhole  // environment, os.environ, process_env
};
// Names of functions and of files are none, whatever they call theirs.
EnvironmentEvent EnvironmentEventOf(std::string_view name);

}  // namespace kprof
