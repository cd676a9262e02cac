// Names of kernels and of host calls in a form that compares across compilers, devices and versions: the same kernel is
// spelled otherwise by Kineto and by Nsight Systems, and built with other numbers for another device.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// A mangled name as it is written in C++; other names as they are, and mangled ones that could grow without bound.
std::string DemangledName(std::string_view name);

// The same for the same kernel, whoever spelled it: without return type, parameters, casts of template arguments and
// space; numbers of generated Triton kernels are left out.
std::string PlainKernelName(std::string_view name);

// The same for kernels of one template: without numbers in its arguments, so for other tiles and vector widths. All of
// PyTorch's elementwise kernels are called by the function that they apply: "elementwise(MulFunctor)"; copies by their
// direction, as tools differ in the kinds of the host's memory that they tell apart.
// Empty: the name has nothing that tells it from others.
std::string KernelFamilyName(std::string_view name);

// A host call without what changes from one run to the next: "nn.Module: Linear" of "nn.Module: Linear_3", and the
// name alone of an NVTX range "aten::mm, seq = 3, op_id = 5".
std::string HostCallName(std::string_view name);

}  // namespace kprof
