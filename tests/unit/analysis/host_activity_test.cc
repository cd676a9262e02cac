#include "daemon/analysis/functions/host/host_activity.h"

#include <string>

#include <gtest/gtest.h>

namespace kprof {
namespace {

struct ActivityCase {
  const char* category;
  const char* name;
  const char* activity;
};

TEST(HostActivity, IsToldByCategoryAndName) {
  const ActivityCase cases[] = {
      {"cuda_runtime", "cudaDeviceSynchronize", "sync"},
      {"cuda_runtime", "hipMemcpyWithStream", "sync"},
      {"cuda_runtime", "cudaLaunchKernel_v7000", "launch"},
      {"cuda_runtime", "cudaMemcpy", "sync"},
      {"cuda_runtime", "cudaMemcpyAsync", "launch"},
      {"cuda_driver", "cuLaunchKernelEx", "launch"},
      {"Runtime", "cudaLaunchKernel", "launch"},
      {"cuda_runtime", "hipGraphLaunch", "launch"},
      {"cuda_runtime", "cudaMalloc", "allocation"},
      {"cuda_driver", "cuMemAlloc_v2", "allocation"},
      {"cuda_runtime", "hipHostFree", "allocation"},
      {"cuda_runtime", "cudaEventRecord", "runtime"},
      {"user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data_loader"},
      {"python_function", "torch/utils/data/dataloader.py(700): __next__", "data_loader"},
      {"cpu_op", "aten::mm", "operator"},
      {"Operator", "aten::mm", "operator"},
      {"python_function", "train.py(12): main", "python"},
      {"os_runtime", "poll", "system"},
      {"user_annotation", "ProfilerStep#1", "nothing"},
      {"", "cudaLaunchKernel", "nothing"},
      {"nvtx", "aten::layer_norm, seq = 12, op_id = 34", "operator"},
      {"nvtx", "aten::layer_norm, op_id = 34", "operator"},
      {"user_annotation", "aten::layer_norm, op_id = 34", "operator"},
      {"nvtx", "forward", "nothing"},
  };
  for (const ActivityCase& one : cases) {
    EXPECT_EQ(HostActivityName(ActivityOf(one.category, one.name)), one.activity) << one.category << " " << one.name;
  }
}

}  // namespace
}  // namespace kprof
