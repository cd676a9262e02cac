// Units of metrics, in one spelling: byte, ns, hz, %, inst, cycle, byte/s, inst/cycle, register/thread...
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

struct BaseUnit {
  std::string unit;
  double factor = 1;  // from the printed unit to this one
};

// The base unit of one that is printed: "Gbyte/second" is byte/s, times 1e9. An unknown unit is its own.
BaseUnit BaseUnitOf(std::string_view printed);

// The unit of a metric, by its identifier: "dram__bytes.sum.per_second" is in byte/s. Reports (.ncu-rep) hold values in
// base units and do not say them. Empty: it has none, or it is not known.
std::string UnitOfMetric(std::string_view name);

}  // namespace kprof
