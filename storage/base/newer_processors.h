// KPROF_FOR_NEWER_PROCESSORS before a function builds it twice: for all processors, and for those of the last ten years
// (x86-64-v3: AVX2, BMI2), each time with its callees inlined. The program chooses once, when it starts. For long loops
// only, as no caller inlines such a function.
//
// The function is built only once on other architectures, with clang (which cannot do both at once) and under
// sanitizers, whose runtimes are not ready when the choice is made.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define KPROF_FOR_NEWER_PROCESSORS __attribute__((flatten, target_clones("default", "arch=x86-64-v3")))
#else
#define KPROF_FOR_NEWER_PROCESSORS
#endif
