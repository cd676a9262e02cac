// A program may be started with standard descriptors closed; what it opens next would then be taken for them.
#pragma once

namespace kprof {

// Opens /dev/null in place of those of 0, 1, 2 that are closed. First thing in main, before there is a thread.
void FillStandardDescriptors();

}  // namespace kprof
