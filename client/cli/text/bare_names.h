// Names of kernels without what all of them have: results, namespaces, parameters. For people, in columns that are
// short.
#pragma once

#include <string>
#include <string_view>

namespace kprof::cli {

// "void at::native::vectorized_elementwise_kernel<4, F>(int, F)" is vectorized_elementwise_kernel<4, F>. A name that is
// not written as a C++ function with its parameters stays as it is: aten::mm, Memcpy HtoD (Host -> Device), f.py(3): g.
std::string WithoutSignature(std::string_view name);

// The same without the arguments of templates: vectorized_elementwise_kernel.
std::string BareName(std::string_view name);

}  // namespace kprof::cli
