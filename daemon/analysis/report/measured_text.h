// Measured numbers as people read them: "412.3 us", "1.98 GHz", "16,105,472 inst". Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

// How numbers of one metric are written: divided by `divisor`, in `unit`.
struct ShownUnit {
  double divisor = 1;
  std::string unit;  // empty: none
};

// The unit for numbers of about that size: of a base unit (ns, byte, hz, and those of bytes by something else) that
// with a prefix in thousands, so that 1 to 999 stand before it; others as they are.
ShownUnit ShownUnitOf(double value, std::string_view unit);

// Three digits or so: "61.84", "933.1", "0.0123"; whole numbers and large ones with commas: "12,319,469".
std::string AmountText(double value);

// The number in its ShownUnit: "412.3 us"; without a unit the amount alone.
std::string MeasuredText(double value, std::string_view unit);

}  // namespace kprof
