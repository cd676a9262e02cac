#include "tests/stand_ins/nvml/library/loaded_model.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tests/stand_ins/nvml/clients.h"
#include "tests/stand_ins/nvml/faults.h"
#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml_stand_in {
namespace {

// A C library has to have globals. `mu` is held for moments only.
struct Loaded {
  std::mutex mu;
  unsigned inits = 0;
  MappedModel mapped;
  std::atomic<Model*> model{nullptr};  // mapped.model while inits is not 0
};
Loaded g_loaded;

// For processes whose environment nobody chooses: those in units of systemd.
constexpr const char* kUsualModel = "/dev/shm/kprof-nvml-stand-in";

// Null: there is no driver. A model that was mapped before is kept if it is still the one that is named, or in use.
Model* MapNamedModel() {
  if (Model* const present = g_loaded.model) return present;
  const char* path = std::getenv(kModelVariable);
  if (path == nullptr) path = kUsualModel;
  const MappedModel mapped = MapModel(path);
  if (mapped.model == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(g_loaded.mu);
  if (g_loaded.inits > 0 || (g_loaded.mapped.model != nullptr && g_loaded.mapped.file_inode == mapped.file_inode &&
                             g_loaded.mapped.file_device == mapped.file_device)) {
    UnmapModel(mapped.model);
  } else {
    g_loaded.mapped = mapped;
  }
  return g_loaded.mapped.model;
}

}  // namespace

nvml::Return Load() {
  Model* const model = MapNamedModel();
  if (model == nullptr) return nvml::kDriverNotLoaded;
  StruckFault fault;
  {
    const ModelLock lock(*model);
    ++model->counts[static_cast<unsigned>(Function::nvmlInit_v2)];
    fault = StrikeFaults(*model, Function::nvmlInit_v2, kNode);
  }
  WaitOut(*model, fault);
  if (fault.error != 0) return static_cast<nvml::Return>(fault.error);
  {
    const ModelLock lock(*model);
    if (model->is_mismatched) return nvml::kLibRmVersionMismatch;
    AddClient(*model, ::getpid());
  }
  const std::lock_guard<std::mutex> lock(g_loaded.mu);
  ++g_loaded.inits;
  g_loaded.model = model;
  return nvml::kSuccess;
}

nvml::Return Unload() {
  Model* const model = g_loaded.model;
  if (model == nullptr) return nvml::kUninitialized;
  StruckFault fault;
  {
    const ModelLock lock(*model);
    ++model->counts[static_cast<unsigned>(Function::nvmlShutdown)];
    fault = StrikeFaults(*model, Function::nvmlShutdown, kNode);
  }
  WaitOut(*model, fault);
  if (fault.error != 0) return static_cast<nvml::Return>(fault.error);
  {
    const std::lock_guard<std::mutex> lock(g_loaded.mu);
    if (g_loaded.inits == 0) return nvml::kUninitialized;
    if (--g_loaded.inits > 0) return nvml::kSuccess;
    g_loaded.model = nullptr;
  }
  const ModelLock lock(*model);
  RemoveClient(*model, ::getpid());
  return nvml::kSuccess;
}

Model* LoadedModel() {
  return g_loaded.model;
}

dev_t LoadedFileDevice() {
  const std::lock_guard<std::mutex> lock(g_loaded.mu);
  return g_loaded.mapped.file_device;
}

ino_t LoadedFileInode() {
  const std::lock_guard<std::mutex> lock(g_loaded.mu);
  return g_loaded.mapped.file_inode;
}

}  // namespace kprof::nvml_stand_in
