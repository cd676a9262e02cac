// Standard input, output and error where whoever started us has closed one of them (`kprofctl runs >&-`, `kprofd
// 2>&-`).
#pragma once

namespace kprof {

// Opens /dev/null in place of each that is closed. Else the next file or socket that is opened gets the number and with
// it what was meant for, say, standard output. Opened the wrong way round, so that reading from it or writing to it
// stays the error that it is.
//
// To be called before anything is opened, and so before C++ is ready: nothing but system calls. False, and said on
// standard error, where there is no /dev/null.
bool OccupyClosedDescriptors();

}  // namespace kprof
