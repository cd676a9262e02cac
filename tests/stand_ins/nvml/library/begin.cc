// NVML: beginning, ending, and what errors are called.
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/loaded_model.h"

using kprof::nvml::Return;
namespace nvml = kprof::nvml;
namespace stand_in = kprof::nvml_stand_in;

KPROF_NVML_EXPORT Return nvmlInit_v2() {
  return stand_in::Load();
}

KPROF_NVML_EXPORT Return nvmlInit() {
  return stand_in::Load();
}

KPROF_NVML_EXPORT Return nvmlInitWithFlags(unsigned) {
  return stand_in::Load();
}

KPROF_NVML_EXPORT Return nvmlShutdown() {
  return stand_in::Unload();
}

KPROF_NVML_EXPORT const char* nvmlErrorString(Return code) {
  switch (code) {
    case nvml::kSuccess:
      return "stand-in: success";
    case nvml::kUninitialized:
      return "stand-in: not initialised";
    case nvml::kInvalidArgument:
      return "stand-in: invalid argument";
    case nvml::kNotSupported:
      return "stand-in: not supported";
    case nvml::kNoPermission:
      return "stand-in: no permission";
    case nvml::kNotFound:
      return "stand-in: not found";
    case nvml::kInsufficientSize:
      return "stand-in: insufficient size";
    case nvml::kDriverNotLoaded:
      return "stand-in: driver not loaded";
    case nvml::kTimeout:
      return "stand-in: timeout";
    case nvml::kGpuIsLost:
      return "stand-in: GPU is lost";
    case nvml::kLibRmVersionMismatch:
      return "stand-in: driver and library differ in version";
    default:
      return "stand-in: another error";
  }
}
