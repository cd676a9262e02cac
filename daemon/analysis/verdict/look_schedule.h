// When a comparison looks at its result, and how strict a look is. A comparison that stops at the first look that
// decides is wrong more often than a single look: eight looks at 95 % are wrong in 19 %, not in 5 %. Pocock's
// remedy is one stricter level for all looks, such that all of them together keep the promised confidence.
//
// The looks are at 5, 7, 10, 14, 20, 28, 40, 56, 80, 112... blocks: each has 1.4 times the blocks of the one before, so
// few looks cover a wide range. A comparison plans its looks before it begins: LooksUpTo(most blocks) is its
// most_looks.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>

namespace kprof {

constexpr int64_t kLeastBlocks = 5;  // of the first look
constexpr int64_t kMostLooks = 24;   // more are taken for so many

// The blocks of a look, from 1 on. REQUIRES: 1 <= look <= kMostLooks.
int64_t BlocksOfLook(int64_t look);

// True at the block counts of the schedule.
bool LooksAgainAt(int64_t blocks);

// The looks of a comparison that has at most so many blocks; 1 for fewer than kLeastBlocks.
int64_t LooksUpTo(int64_t blocks);

// The chance of error that each of `looks` looks may have, so that all together have `alpha`. It is computed for the
// schedule's block counts: one look has alpha itself, eight have 0.0107 for 0.05. Costs about 1 ms.
// REQUIRES: 0 < alpha < 1.
double LevelOfEachLook(double alpha, int64_t looks);

}  // namespace kprof
