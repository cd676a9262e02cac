// What the functions that programs find in the library begin with: C's names, visible, unlike everything else.
#pragma once

#define KPROF_NVML_EXPORT extern "C" __attribute__((visibility("default")))
