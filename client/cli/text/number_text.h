// Numbers as digits. Pure functions.
#pragma once

#include <string>

namespace kprof::cli {

// The fewest digits that read back as the same double; whole numbers that a double holds exactly have no exponent.
// "nan" and "inf" for what is no number.
std::string NumberText(double value);

}  // namespace kprof::cli
