// The paired sign-flip test: were no side faster, each block's difference had either sign with the same chance. Its
// statistic is Wilcoxon's sum of signed ranks, as a few disturbed blocks move ranks less than sums.
//
// Pure functions; any thread.
#pragma once

#include <span>

namespace kprof {

// The chance that the signs of these differences are as one-sided as they are, or more, in either direction, were
// every sign a coin's. Exact up to 200 differences, whatever ties there are: all flips are counted, none is drawn.
// Beyond that it is the normal distribution's. Differences of 0 are left out; 1 where no other is left. REQUIRES: they
// are finite.
double SignFlipPValue(std::span<const double> differences);

}  // namespace kprof
