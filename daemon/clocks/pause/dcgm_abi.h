// The part of DCGM's library (libdcgm.so.4, .3) that we call, declared by ourselves: the types and the numbers of its
// public ABI, under our own names. Nothing is linked; dcgm_door.h finds the functions at run time. A type's layout
// is checked below; the ABI is that of 64-bit Linux, which is the only one that has it.
//
// Structs are versioned by a field that holds their size and a number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kprof::dcgm {

// The codes that each call returns.
enum Return : int {
  kOk = 0,
  kBadParam = -1,
  kGenericError = -3,
  kNotSupported = -6,
  kInitError = -7,
  kUninitialized = -10,
  kTimeout = -11,
  kVersionMismatch = -12,
  kNoData = -14,
  kNotWatched = -16,
  kNoPermission = -17,
  kConnectionNotValid = -21,
  kRequiresRoot = -29,
  kModuleNotLoaded = -33,
  kInUse = -34,
  kProfilingNotSupported = -36,
  kProfilingLibraryError = -37,
  kPaused = -54,
};

using Handle = uintptr_t;

struct ConnectParams {
  unsigned version;
  unsigned persist_after_disconnect;
  unsigned timeout_ms;  // 0: its default
  unsigned address_is_unix_socket;
};
constexpr unsigned kConnectParamsVersion2 = sizeof(ConnectParams) | 2u << 24;

constexpr size_t kBlobBytes = 4096;
struct FieldValue {
  unsigned version;
  unsigned short field_id;
  unsigned short field_type;  // 'd': value.number
  int status;                 // a Return
  int64_t unix_us;
  union {
    int64_t integer;
    double number;
    char blob[kBlobBytes];
  } value;
};
constexpr unsigned kFieldValueVersion1 = sizeof(FieldValue) | 1u << 24;

// Numbers from here on are no values: "blank", "not found", "not supported", "not permitted".
constexpr double kBlank = 140737488355328.0;

constexpr unsigned kEntityGpu = 1;
constexpr unsigned kMostDevices = 64;  // that it writes into a list; 32 in versions 2 to 4

// Fields of its profiling module that each device has.
constexpr unsigned short kFieldGraphicsActive = 1001;
constexpr unsigned short kFieldSmActive = 1002;
constexpr unsigned short kFieldDramActive = 1005;

static_assert(sizeof(void*) == 8, "the ABI of 64-bit Linux");
static_assert(sizeof(Return) == 4 && sizeof(Handle) == 8);
static_assert(sizeof(ConnectParams) == 16 && offsetof(ConnectParams, address_is_unix_socket) == 12);
static_assert(sizeof(FieldValue) == 4120 && offsetof(FieldValue, status) == 8 && offsetof(FieldValue, unix_us) == 16 &&
              offsetof(FieldValue, value) == 24);

// Its functions; null: this library has none of that name.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*connect)(const char*, ConnectParams*, Handle*) = nullptr;
  Return (*disconnect)(Handle) = nullptr;
  Return (*pause)(Handle) = nullptr;
  Return (*resume)(Handle) = nullptr;
  Return (*supported_devices)(Handle, unsigned*, int*) = nullptr;
  Return (*latest_values)(Handle, unsigned, int, unsigned short*, unsigned, FieldValue*) = nullptr;
  const char* (*error_text)(Return) = nullptr;
};

}  // namespace kprof::dcgm
