// The file that a model lies in. Whoever maps it may be killed at any moment: the next one that locks it mends what was
// being changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// The environment variable that names it.
constexpr const char* kModelVariable = "KPROF_NVML_STAND_IN";

// Writes a new one with devices of these profiles ("h200,h200,t4"), and puts it in the place of `path` at once: whoever
// mapped a former one keeps that. Everybody may read and write it, as tests change users. Returns what went wrong, or
// nothing.
std::string CreateModel(const std::string& path, std::string_view profiles);

struct MappedModel {
  Model* model = nullptr;  // null: `why`
  dev_t file_device = 0;
  ino_t file_inode = 0;
  std::string why;
};

// Maps it until UnmapModel.
MappedModel MapModel(const std::string& path);
void UnmapModel(Model* model);

// Holds a model's mutex.
class ModelLock {
 public:
  explicit ModelLock(Model& model);
  ~ModelLock();
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

 private:
  Model& model_;
};

// While it lives the device is being changed: one that is killed within leaves it as it was. Under a ModelLock.
class DeviceChange {
 public:
  DeviceChange(Model& model, unsigned slot);
  ~DeviceChange();
  DeviceChange(const DeviceChange&) = delete;
  DeviceChange& operator=(const DeviceChange&) = delete;

 private:
  Model& model_;
};

// The clock of the model's times.
uint64_t MonoNs();

}  // namespace kprof::nvml_stand_in
