// What the other tests rely on when they meet the stand-in for NVML instead of a GPU; see tests/stand_ins/nvml.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>

#include "daemon/devices/nvidia/nvml_library.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

TEST_F(NvmlStandIn, HasEveryFunctionThatTheLoaderLooksUp) {
  Begin("h200");
  std::array<void*, sizeof(nvml::Functions) / sizeof(void*)> functions;
  std::memcpy(functions.data(), &nvml(), sizeof(nvml::Functions));
  for (size_t i = 0; i < functions.size(); ++i) EXPECT_NE(functions[i], nullptr) << "the " << i << "th of Functions";
}

TEST_F(NvmlStandIn, ShowsItsFunctionsAloneAndTheOlderNamesOfThem) {
  void* library = ::dlopen(kStandInLibrary, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  for (const char* name :
       {"nvmlInit", "nvmlInitWithFlags", "nvmlErrorString", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetAttributes", "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlSystemGetCudaDriverVersion", "nvmlEventSetWait", "nvmlDeviceResetApplicationsClocks"}) {
    EXPECT_NE(::dlsym(library, name), nullptr) << name;
  }
  const auto error_string = reinterpret_cast<const char* (*)(nvml::Return)>(::dlsym(library, "nvmlErrorString"));
  EXPECT_THAT(error_string(nvml::kNoPermission), HasSubstr("permission"));
  ::dlclose(library);
  EXPECT_EQ(::dlopen(kStandInLibrary, RTLD_NOW | RTLD_NOLOAD), nullptr) << "something keeps it loaded";
}

TEST_F(NvmlStandIn, HasNoDriverWithoutAModel) {
  const TemporaryFolder folder;
  std::ofstream(folder / "other") << "no model";
  for (const std::string& path : {std::string(), folder / "missing", folder / "other"}) {
    path.empty() ? ::unsetenv("KPROF_NVML_STAND_IN") : ::setenv("KPROF_NVML_STAND_IN", path.c_str(), 1);
    const Result<NvmlLibrary> opened = NvmlLibrary::Open(kStandInLibrary);
    ASSERT_FALSE(opened.ok()) << path;
    EXPECT_EQ(opened.status().code(), ErrorCode::kNotFound);
    EXPECT_EQ(opened.status().why(), NvmlFailureOf(nvml::kDriverNotLoaded).why);
  }
}

TEST_F(NvmlStandIn, RefusesCallsBeforeItsBeginningAndAfterItsEnd) {
  Begin("h200");
  const nvml::Functions functions = nvml();
  const nvml::DeviceHandle handle = Handle();
  ASSERT_EQ(functions.init(), nvml::kSuccess);
  ASSERT_EQ(functions.shutdown(), nvml::kSuccess);
  unsigned number = 0;
  EXPECT_EQ(functions.device_count(&number), nvml::kSuccess) << "the first beginning still holds";
  ASSERT_EQ(functions.shutdown(), nvml::kSuccess);
  EXPECT_EQ(functions.device_count(&number), nvml::kUninitialized);
  EXPECT_EQ(functions.clock(handle, nvml::kClockSm, &number), nvml::kUninitialized);
  EXPECT_EQ(functions.lock_gpu_clocks(handle, 1500, 1500), nvml::kUninitialized);
  EXPECT_EQ(functions.wait_for_event(nullptr, nullptr, 0), nvml::kUninitialized);
  EXPECT_EQ(functions.shutdown(), nvml::kUninitialized);
  ASSERT_EQ(functions.init(), nvml::kSuccess);
  EXPECT_EQ(functions.device_count(&number), nvml::kSuccess);
}

TEST_F(NvmlStandIn, RefusesToBeginWhereVersionsDiffer) {
  Begin("h200");
  model().SetNode("mismatch 1");
  EXPECT_EQ(nvml().init(), nvml::kLibRmVersionMismatch);
  model().SetNode("mismatch 0");
  EXPECT_EQ(nvml().init(), nvml::kSuccess);
  EXPECT_EQ(nvml().shutdown(), nvml::kSuccess);
}

TEST_F(NvmlStandIn, HasDevicesOfEachProfile) {
  Begin("h200,h100,a100,t4,l4,rtx4090,p100,b200");
  struct Case {
    const char* name;
    unsigned architecture;
    int major, minor;
    unsigned graphics_mhz, memory_mhz;
    unsigned power_limit_mw;
  };
  const Case cases[] = {
      {"NVIDIA H200", 9, 9, 0, 1980, 3201, 700'000},
      {"NVIDIA H100 80GB HBM3", 9, 9, 0, 1980, 2619, 700'000},
      {"NVIDIA A100-SXM4-80GB", 7, 8, 0, 1410, 1593, 400'000},
      {"Tesla T4", 6, 7, 5, 1590, 5001, 70'000},
      {"NVIDIA L4", 8, 8, 9, 2040, 6251, 72'000},
      {"NVIDIA GeForce RTX 4090", 8, 8, 9, 3105, 10501, 450'000},
      {"Tesla P100-SXM2-16GB", 4, 6, 0, 1480, 715, 300'000},
      {"NVIDIA B200", 10, 10, 0, 1965, 3996, 1'000'000},
  };
  unsigned count = 0;
  ASSERT_EQ(nvml().device_count(&count), nvml::kSuccess);
  ASSERT_EQ(count, std::size(cases));
  for (unsigned i = 0; i < count; ++i) {
    const Case& device = cases[i];
    SCOPED_TRACE(device.name);
    const nvml::DeviceHandle handle = Handle(i);
    EXPECT_EQ(Name(handle), device.name);
    unsigned number = 0;
    EXPECT_EQ(nvml().architecture(handle, &number), nvml::kSuccess);
    EXPECT_EQ(number, device.architecture);
    int major = 0;
    int minor = 0;
    EXPECT_EQ(nvml().compute_capability(handle, &major, &minor), nvml::kSuccess);
    EXPECT_EQ(major, device.major);
    EXPECT_EQ(minor, device.minor);
    EXPECT_EQ(nvml().max_clock(handle, nvml::kClockSm, &number), nvml::kSuccess);
    EXPECT_EQ(number, device.graphics_mhz);
    EXPECT_EQ(nvml().max_clock(handle, nvml::kClockMem, &number), nvml::kSuccess);
    EXPECT_EQ(number, device.memory_mhz);
    EXPECT_EQ(nvml().default_power_limit(handle, &number), nvml::kSuccess);
    EXPECT_EQ(number, device.power_limit_mw);
    EXPECT_EQ(nvml().minor_number(handle, &number), nvml::kSuccess);
    EXPECT_EQ(number, i);
  }
}

TEST_F(NvmlStandIn, TellsWhatItIsToBuffersThatHoldIt) {
  Begin("h200,rtx4090");
  const nvml::DeviceHandle handle = Handle();
  char text[nvml::kUuidBytes];
  EXPECT_EQ(nvml().name(handle, text, 12), nvml::kSuccess) << "NVIDIA H200 and its end";
  EXPECT_EQ(nvml().name(handle, text, 11), nvml::kInsufficientSize);
  EXPECT_EQ(nvml().name(handle, nullptr, 96), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().uuid(handle, text, 41), nvml::kSuccess);
  EXPECT_EQ(nvml().uuid(handle, text, 40), nvml::kInsufficientSize);
  EXPECT_EQ(nvml().serial(handle, text, nvml::kSerialBytes), nvml::kSuccess);
  EXPECT_EQ(nvml().serial(Handle(1), text, nvml::kSerialBytes), nvml::kNotSupported);
  EXPECT_EQ(nvml().vbios_version(handle, text, nvml::kVbiosBytes), nvml::kSuccess);
  EXPECT_EQ(nvml().driver_version(text, nvml::kVersionBytes), nvml::kSuccess);
  EXPECT_STREQ(text, "570.124.06");
  EXPECT_EQ(nvml().driver_version(text, 4), nvml::kInsufficientSize);
  int cuda = 0;
  EXPECT_EQ(nvml().cuda_driver_version(&cuda), nvml::kSuccess);
  EXPECT_EQ(cuda, 12080);
}

TEST_F(NvmlStandIn, RefusesHandlesOfNobody) {
  Begin("h200");
  unsigned number = 0;
  EXPECT_EQ(nvml().power_usage(nullptr, &number), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().power_usage(reinterpret_cast<nvml::DeviceHandle>(&number), &number), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().power_usage(Handle(), nullptr), nvml::kInvalidArgument);
}

TEST_F(NvmlStandIn, TellsItsPlaceOnTheBusInBothForms) {
  Begin("h100");
  model().Set(0, "pci 0001:5d:1f.0");
  nvml::PciInfo pci{};
  ASSERT_EQ(nvml().pci_info(Handle(), &pci), nvml::kSuccess);
  EXPECT_STREQ(pci.bus_id_legacy, "0001:5D:1F.0");
  EXPECT_STREQ(pci.bus_id, "00000001:5D:1F.0");
  EXPECT_EQ(pci.domain, 1u);
  EXPECT_EQ(pci.bus, 0x5du);
  EXPECT_EQ(pci.device, 0x1fu);
  EXPECT_EQ(pci.pci_device_id, 0x233010deu);
}

TEST_F(NvmlStandIn, FindsDevicesByUuidAndIndex) {
  Begin("h200,t4");
  nvml::DeviceHandle handle = nullptr;
  EXPECT_EQ(nvml().handle_by_uuid(model().Uuid(1).c_str(), &handle), nvml::kSuccess);
  EXPECT_EQ(handle, Handle(1));
  EXPECT_EQ(Name(handle), "Tesla T4");
  EXPECT_EQ(nvml().handle_by_uuid("GPU-of-nobody", &handle), nvml::kNotFound);
  EXPECT_EQ(nvml().handle_by_uuid(nullptr, &handle), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().handle_by_index(2, &handle), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().handle_by_index(0, nullptr), nvml::kInvalidArgument);
}

TEST_F(NvmlStandIn, HasEccWhereTheDeviceHas) {
  Begin("h200,rtx4090");
  model().Set(0, "ecc_errors corrected aggregate 5");
  nvml::EnableState current = nvml::kDisabled;
  nvml::EnableState pending = nvml::kDisabled;
  EXPECT_EQ(nvml().ecc_mode(Handle(), &current, &pending), nvml::kSuccess);
  EXPECT_EQ(current, nvml::kEnabled);
  unsigned long long errors = 0;
  EXPECT_EQ(nvml().ecc_errors(Handle(), nvml::kErrorCorrected, nvml::kEccAggregate, &errors), nvml::kSuccess);
  EXPECT_EQ(errors, 5u);
  EXPECT_EQ(nvml().ecc_mode(Handle(1), &current, &pending), nvml::kNotSupported);
  EXPECT_EQ(nvml().ecc_errors(Handle(1), nvml::kErrorCorrected, nvml::kEccVolatile, &errors), nvml::kNotSupported);
  model().Set(0, "ecc off");
  EXPECT_EQ(nvml().ecc_errors(Handle(), nvml::kErrorCorrected, nvml::kEccAggregate, &errors), nvml::kNotSupported);
}

TEST_F(NvmlStandIn, HasLinksWhereTheDeviceHas) {
  Begin("a100,t4");
  model().Set(0, "nvlink 3 off");
  model().Set(0, "nvlink 4 on 0000:c7:00.0");
  nvml::EnableState state = nvml::kDisabled;
  nvml::PciInfo remote{};
  EXPECT_EQ(nvml().nvlink_state(Handle(), 4, &state), nvml::kSuccess);
  EXPECT_EQ(state, nvml::kEnabled);
  EXPECT_EQ(nvml().nvlink_remote_pci(Handle(), 4, &remote), nvml::kSuccess);
  EXPECT_STREQ(remote.bus_id, "00000000:C7:00.0");
  EXPECT_EQ(nvml().nvlink_state(Handle(), 3, &state), nvml::kSuccess);
  EXPECT_EQ(state, nvml::kDisabled);
  EXPECT_EQ(nvml().nvlink_remote_pci(Handle(), 3, &remote), nvml::kNotSupported);
  EXPECT_EQ(nvml().nvlink_state(Handle(), 12, &state), nvml::kInvalidArgument) << "it has 12";
  EXPECT_EQ(nvml().nvlink_state(Handle(1), 0, &state), nvml::kNotSupported);
}

TEST_F(NvmlStandIn, ListsProcessesWhereThereIsRoom) {
  Begin("rtx4090");
  nvml::ProcessInfo infos[4] = {};
  unsigned count = 0;
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, nullptr), nvml::kSuccess) << "there are none";
  model().Set(0, "process 4001 1000000 compute");
  model().Set(0, "process 4002 unknown compute");
  model().Set(0, "process 4003 5000 graphics");
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, nullptr), nvml::kInsufficientSize);
  EXPECT_EQ(count, 2u);
  count = 1;
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, infos), nvml::kInsufficientSize);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, nullptr), nvml::kInvalidArgument);
  count = 4;
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, infos), nvml::kSuccess);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(infos[0].pid, 4001u);
  EXPECT_EQ(infos[0].used_gpu_memory, 1'000'000u);
  EXPECT_EQ(infos[0].gpu_instance_id, 0xffffffffu);
  EXPECT_EQ(infos[1].pid, 4002u);
  EXPECT_EQ(infos[1].used_gpu_memory, nvml::kValueNotAvailable);
  count = 4;
  EXPECT_EQ(nvml().graphics_processes(Handle(), &count, infos), nvml::kSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, 4003u);
  nvml::Memory memory{};
  EXPECT_EQ(nvml().memory_info(Handle(), &memory), nvml::kSuccess);
  EXPECT_EQ(memory.used, (600ULL << 20) + 1'005'000);
  EXPECT_EQ(memory.free + memory.used, memory.total);
}

// Drivers of 530 and 535 do it: NVIDIA/go-nvml#75, gpuopenanalytics/pynvml#48.
TEST_F(NvmlStandIn, WritesLongerProcessesAsSomeDriversDo) {
  Begin("h200");
  model().Set(0, "process 4001 1000 compute");
  model().Set(0, "process 4002 2000 compute");
  model().SetNode("process_entry_bytes 32");
  alignas(8) char infos[2 * 32] = {};
  unsigned count = 2;
  ASSERT_EQ(nvml().compute_processes(Handle(), &count, reinterpret_cast<nvml::ProcessInfo*>(infos)), nvml::kSuccess);
  nvml::ProcessInfo second{};
  std::memcpy(&second, infos + 32, sizeof(second));
  EXPECT_EQ(second.pid, 4002u);
}

TEST_F(NvmlStandIn, IsDividedIntoInstances) {
  Begin("h100");
  unsigned current = 7;
  unsigned pending = 7;
  unsigned most = 7;
  EXPECT_EQ(nvml().mig_mode(Handle(), &current, &pending), nvml::kSuccess);
  EXPECT_EQ(current, nvml::kMigDisabled);
  EXPECT_EQ(nvml().most_mig_devices(Handle(), &most), nvml::kSuccess);
  EXPECT_EQ(most, 0u);
  model().Set(0, "mig on");
  model().Set(0, "mig_add 1g.10gb");
  model().Set(0, "mig_add 3g.40gb");
  EXPECT_EQ(nvml().mig_mode(Handle(), &current, &pending), nvml::kSuccess);
  EXPECT_EQ(current, nvml::kMigEnabled);
  EXPECT_EQ(nvml().most_mig_devices(Handle(), &most), nvml::kSuccess);
  EXPECT_EQ(most, 7u);

  nvml::DeviceHandle instance = nullptr;
  EXPECT_EQ(nvml().mig_handle(Handle(), 2, &instance), nvml::kNotFound);
  EXPECT_EQ(nvml().mig_handle(Handle(), 7, &instance), nvml::kInvalidArgument);
  instance = Instance(1);
  EXPECT_EQ(Name(instance), "NVIDIA H100 80GB HBM3 MIG 3g.38gb");
  EXPECT_THAT(Uuid(instance), testing::StartsWith("MIG-"));
  EXPECT_NE(Uuid(instance), Uuid(Instance(0)));
  nvml::DeviceHandle same = nullptr;
  EXPECT_EQ(nvml().handle_by_uuid(Uuid(instance).c_str(), &same), nvml::kSuccess);
  EXPECT_EQ(same, instance);
  unsigned id = 0;
  EXPECT_EQ(nvml().gpu_instance_id(instance, &id), nvml::kSuccess);
  EXPECT_EQ(id, 2u);
  EXPECT_EQ(nvml().compute_instance_id(instance, &id), nvml::kSuccess);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(nvml().gpu_instance_id(Handle(), &id), nvml::kInvalidArgument);
  nvml::DeviceAttributes attributes{};
  EXPECT_EQ(nvml().attributes(instance, &attributes), nvml::kSuccess);
  EXPECT_EQ(attributes.multiprocessor_count, 48u);
  EXPECT_EQ(attributes.memory_size_mb, 40u * 973);
  EXPECT_EQ(nvml().attributes(Handle(), &attributes), nvml::kNotSupported);

  nvml::Utilization busy{};
  EXPECT_EQ(nvml().utilization(Handle(), &busy), nvml::kNotSupported) << "with MIG nobody knows";
  EXPECT_EQ(nvml().lock_gpu_clocks(instance, 1500, 1500), nvml::kInvalidArgument) << "clocks are the whole GPU's";
  unsigned number = 0;
  EXPECT_EQ(nvml().power_usage(instance, &number), nvml::kInvalidArgument);
}

TEST_F(NvmlStandIn, KnowsWhichInstanceAProcessIsIn) {
  Begin("a100");
  model().Set(0, "mig on");
  model().Set(0, "mig_add 1g.10gb");
  model().Set(0, "mig_add 1g.10gb");
  model().Set(0, "process 4001 1000 compute 1 0");
  model().Set(0, "process 4002 2000 compute 2 0");
  nvml::ProcessInfo infos[4] = {};
  unsigned count = 4;
  EXPECT_EQ(nvml().compute_processes(Handle(), &count, infos), nvml::kSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(infos[1].gpu_instance_id, 2u);
  count = 4;
  EXPECT_EQ(nvml().compute_processes(Instance(1), &count, infos), nvml::kSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, 4002u);
  nvml::Memory memory{};
  EXPECT_EQ(nvml().memory_info(Instance(1), &memory), nvml::kSuccess);
  EXPECT_EQ(memory.used, 2000u);
  EXPECT_EQ(memory.total, 9730ULL << 20);
  const nvml::DeviceHandle gone = Instance(1);
  model().Set(0, "mig_clear");
  EXPECT_EQ(nvml().memory_info(gone, &memory), nvml::kInvalidArgument);
}

}  // namespace
}  // namespace kprof
