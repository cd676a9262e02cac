#include "tests/stand_ins/nvml/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "storage/base/descriptors.h"
#include "tests/stand_ins/nvml/profiles.h"

namespace kprof::nvml_stand_in {
namespace {

std::string WhyErrno(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

bool InitMutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t shared;
  if (::pthread_mutexattr_init(&shared) != 0) return false;
  const bool done = ::pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0 &&
                    ::pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST) == 0 &&
                    ::pthread_mutex_init(mutex, &shared) == 0;
  ::pthread_mutexattr_destroy(&shared);
  return done;
}

// `model` is all zeros.
std::string Fill(Model& model, std::string_view profiles) {
  model.magic = kModelMagic;
  model.version = kModelVersion;
  model.undo_slot = -1;
  model.random_state = 1;
  model.process_entry_bytes = sizeof(nvml::ProcessInfo);
  std::snprintf(model.driver_version, sizeof(model.driver_version), "570.124.06");
  std::snprintf(model.nvml_version, sizeof(model.nvml_version), "12.570.124.06");
  model.cuda_version = 12080;
  while (true) {
    const size_t comma = profiles.find(',');
    if (model.device_count == kMostDevices) return "there are at most " + std::to_string(kMostDevices) + " devices";
    const std::string_view name = profiles.substr(0, comma);
    Device& device = model.devices[model.device_count];
    if (!FillDevice(name, model.device_count, device)) {
      return "there is no profile '" + std::string(name) + "'; there are " + ProfileNames();
    }
    device.energy_mono_ns = MonoNs();
    ++model.device_count;
    if (comma == std::string_view::npos) break;
    profiles.remove_prefix(comma + 1);
  }
  if (!InitMutex(&model.mutex)) return "no mutex that processes share can be made";
  return {};
}

}  // namespace

std::string CreateModel(const std::string& path, std::string_view profiles) {
  std::string temporary = path + ".XXXXXX";
  UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return WhyErrno("create " + temporary);
  std::string wrong;
  if (::fchmod(file.get(), 0666) != 0 || ::ftruncate(file.get(), sizeof(Model)) != 0) {
    wrong = WhyErrno("write " + temporary);
  } else {
    void* mapped = ::mmap(nullptr, sizeof(Model), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) {
      wrong = WhyErrno("map " + temporary);
    } else {
      wrong = Fill(*static_cast<Model*>(mapped), profiles);
      ::munmap(mapped, sizeof(Model));
    }
  }
  if (wrong.empty() && ::rename(temporary.c_str(), path.c_str()) != 0) wrong = WhyErrno("create " + path);
  if (!wrong.empty()) ::unlink(temporary.c_str());
  return wrong;
}

MappedModel MapModel(const std::string& path) {
  MappedModel mapped;
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) {
    mapped.why = WhyErrno("open " + path);
    return mapped;
  }
  struct stat facts;
  if (::fstat(file.get(), &facts) != 0 || facts.st_size != sizeof(Model)) {
    mapped.why = path + " is no model, or one of another version";
    return mapped;
  }
  void* memory = ::mmap(nullptr, sizeof(Model), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    mapped.why = WhyErrno("map " + path);
    return mapped;
  }
  auto* model = static_cast<Model*>(memory);
  if (model->magic != kModelMagic || model->version != kModelVersion) {
    ::munmap(memory, sizeof(Model));
    mapped.why = path + " is no model, or one of another version";
    return mapped;
  }
  mapped.model = model;
  mapped.file_device = facts.st_dev;
  mapped.file_inode = facts.st_ino;
  return mapped;
}

void UnmapModel(Model* model) {
  ::munmap(model, sizeof(Model));
}

ModelLock::ModelLock(Model& model) : model_(model) {
  const int locked = ::pthread_mutex_lock(&model_.mutex);
  if (locked == EOWNERDEAD) {
    if (model_.undo_slot >= 0) model_.devices[model_.undo_slot] = model_.undo;
    model_.undo_slot = -1;
    ::pthread_mutex_consistent(&model_.mutex);
  } else if (locked != 0) {
    std::fprintf(stderr, "nvml stand-in: the model cannot be locked: %s\n", std::strerror(locked));
    std::abort();
  }
}

ModelLock::~ModelLock() {
  ::pthread_mutex_unlock(&model_.mutex);
}

DeviceChange::DeviceChange(Model& model, unsigned slot) : model_(model) {
  model_.undo = model_.devices[slot];
  __atomic_store_n(&model_.undo_slot, static_cast<int32_t>(slot), __ATOMIC_SEQ_CST);
}

DeviceChange::~DeviceChange() {
  __atomic_store_n(&model_.undo_slot, -1, __ATOMIC_SEQ_CST);
}

uint64_t MonoNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace kprof::nvml_stand_in
