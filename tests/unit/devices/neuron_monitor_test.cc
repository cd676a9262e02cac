#include "daemon/devices/neuron/neuron_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As the tool's guide and a listing of an inf2 have it.
constexpr const char* kInf2Report =
    R"({"neuron_runtime_data":[{"pid":2199,"address":"x","neuron_runtime_tag":"2199","error":"","report":{)"
    R"("neuroncore_counters":{"period":1.000665759,"error":"","neuroncores_in_use":{)"
    R"("0":{"neuroncore_utilization":89.40087251059674,"effective_flops":875590474948},)"
    R"("1":{"neuroncore_utilization":0,"effective_flops":0}}},)"
    R"("execution_stats":{"period":1.000590175,"error":"",)"
    R"("error_summary":{"hardware":0,"model":0,"numerical":1,"runtime":0,"transient":0},)"
    R"("execution_summary":{"completed":816,"completed_with_err":1,"completed_with_num_err":2,"failed_to_queue":3,)"
    R"("incorrect_input":4,"timed_out":5},)"
    R"("latency_stats":{"device_latency":{"p0":0.0011,"p1":0.0012,"p25":0.0013,"p50":0.0014,"p75":0.0015,"p99":0.0016,)"
    R"("p100":0.0017},"total_latency":null}},)"
    R"("memory_used":{"period":1,"error":"","neuron_runtime_used_bytes":{"host":1166249984,"neuron_device":141649980,)"
    R"("usage_breakdown":{"host":{"application_memory":1162055680,"constants":0,"dma_buffers":4194304,"tensors":0},)"
    R"("neuroncore_memory_usage":{"0":{"constants":33619968,"model_code":106027452,"model_shared_scratchpad":0,)"
    R"("runtime_memory":114752,"tensors":131072,"new_kind":8}}}},"loaded_models":[{"name":"x"}]},)"
    R"("neuron_runtime_vcpu_usage":{"vcpu_usage":{"user":14.57,"system":10.8}}}}],)"
    R"("system_data":{"neuron_hw_counters":{"neuron_devices":[{"neuron_device_index":0,"mem_ecc_corrected":1,)"
    R"("mem_ecc_uncorrected":2,"sram_ecc_corrected":3,"sram_ecc_uncorrected":4}]},"memory_info":{}},)"
    R"("instance_info":{"instance_name":"n","instance_id":"i-1","instance_type":"inf2.xlarge","error":""},)"
    R"("neuron_hardware_info":{"neuron_device_type":"inferentia2","neuron_device_version":"v3",)"
    R"("neuroncore_version":"v2","neuron_device_count":1,"neuron_device_memory_size":34359738368,)"
    R"("neuroncore_per_device_count":2,"logical_neuroncore_config":1,"error":""}})";

NeuronReport ReadReport(const std::string& line) {
  Result<NeuronReport> report = ParseNeuronMonitorLine(line);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? *report : NeuronReport();
}

std::string WithCores(const std::string& cores) {
  return R"({"neuron_runtime_data":[{"pid":1,"report":{"neuroncore_counters":{"neuroncores_in_use":)" + cores + "}}}]}";
}

TEST(NeuronMonitor, ReadsEachRuntimeOfInf2) {
  const NeuronReport report = ReadReport(kInf2Report);
  ASSERT_EQ(report.runtimes.size(), 1U);
  const NeuronRuntime& runtime = report.runtimes[0];
  EXPECT_EQ(runtime.pid, 2199);
  EXPECT_EQ(runtime.tag, "2199");
  EXPECT_EQ(runtime.counters_period_s, 1.000665759);
  EXPECT_THAT(*runtime.cores,
              ElementsAre(NeuronCoreUse{0, 89.40087251059674, 875590474948.0, {}}, NeuronCoreUse{1, 0.0, 0.0, {}}));
  EXPECT_EQ(runtime.executions, (NeuronExecutions{816, 1, 2, 5, 4, 3}));
  EXPECT_EQ(runtime.errors, (NeuronErrorCounts{std::nullopt, 1, 0, 0, 0, 0}));
  EXPECT_EQ(runtime.total_latency, std::nullopt);
  EXPECT_EQ(runtime.device_latency, (NeuronLatency{0.0011, 0.0012, 0.0013, 0.0014, 0.0015, 0.0016, 0.0017}));
  EXPECT_THAT(runtime.group_errors, IsEmpty());
}

TEST(NeuronMonitor, SumsTheMemoryOfACoreOverAllKinds) {
  const NeuronReport report = ReadReport(kInf2Report);
  ASSERT_TRUE(report.runtimes[0].memory.has_value());
  const NeuronMemoryUse& memory = *report.runtimes[0].memory;
  EXPECT_EQ(memory.host_bytes, 1166249984);
  EXPECT_EQ(memory.device_bytes, 141649980);
  EXPECT_EQ(memory.host_dma_bytes, 4194304);
  ASSERT_EQ(memory.cores.size(), 1U);
  EXPECT_EQ(memory.cores[0].total_bytes, 33619968 + 106027452 + 114752 + 131072 + 8);
  EXPECT_EQ(memory.cores[0].model_code_bytes, 106027452);
}

TEST(NeuronMonitor, ReadsWhatIsOfTheNode) {
  const NeuronReport report = ReadReport(kInf2Report);
  EXPECT_THAT(*report.ecc, ElementsAre(NeuronDeviceEcc{0, {1, 2, std::nullopt, 3, 4}}));
  EXPECT_EQ(report.instance, (NeuronInstanceInfo{"n", "i-1", "inf2.xlarge"}));
  EXPECT_EQ(report.hardware, (NeuronHardwareInfo{"inferentia2", "v3", "v2", 1, 34359738368, 2, 1}));
}

TEST(NeuronMonitor, ReadsThePhysicalCoresOfTrn2AndTheDocumentedFlops) {
  const NeuronReport report = ReadReport(
      WithCores(R"({"4":{"neuroncore_utilization":50.5,"flops":7,"effective_flops":8,)"
                R"("v3d":{"nc_v3.0":{"neuroncore_utilization":40},"nc_v3.1":{"neuroncore_utilization":61}}}})"));
  EXPECT_THAT(*report.runtimes[0].cores,
              ElementsAre(NeuronCoreUse{4, 50.5, 7.0, {{"nc_v3.0", 40.0}, {"nc_v3.1", 61.0}}}));
}

TEST(NeuronMonitor, TakesBothNamesOfNumericalErrors) {
  for (const char* name : {"numerical", "numeric"}) {
    const NeuronReport report =
        ReadReport(R"({"neuron_runtime_data":[{"report":{"execution_stats":{"error_summary":{"generic":1,")" +
                   std::string(name) + R"(":2}}}}]})");
    EXPECT_EQ(report.runtimes[0].errors->numerical, 2) << name;
    EXPECT_EQ(report.runtimes[0].errors->generic, 1);
  }
}

TEST(NeuronMonitor, OrdersCoresByNumber) {
  const NeuronReport report = ReadReport(WithCores(R"({"10":{},"9":{},"0":{}})"));
  EXPECT_EQ(report.runtimes[0].cores->at(0).core, 0);
  EXPECT_EQ(report.runtimes[0].cores->at(1).core, 9);
  EXPECT_EQ(report.runtimes[0].cores->at(2).core, 10);
}

TEST(NeuronMonitor, MissesGroupsWithoutComplaint) {
  EXPECT_EQ(ReadReport("{}"), NeuronReport());
  EXPECT_EQ(ReadReport(R"({"neuron_runtime_data":null,"system_data":null,"other":1})"), NeuronReport());
  EXPECT_EQ(ReadReport(R"({"neuron_runtime_data":[{"report":null}]})").runtimes, std::vector<NeuronRuntime>(1));
  EXPECT_EQ(ReadReport(R"({"system_data":{"neuron_hw_counters":{"neuron_devices":null}}})").ecc, std::nullopt);
}

TEST(NeuronMonitor, KeepsTheErrorsOfGroups) {
  const NeuronReport report =
      ReadReport(R"({"neuron_runtime_data":[{"pid":3,"error":"gone","report":{"neuroncore_counters":{"error":"a"},)"
                 R"("execution_stats":{"error":"b"},"memory_used":{"error":"c"}}}],)"
                 R"("system_data":{"neuron_hw_counters":{"error":"d"}},"neuron_hardware_info":{"error":"e"},)"
                 R"("instance_info":{"error":"f"}})");
  EXPECT_THAT(report.runtimes[0].group_errors,
              ElementsAre(NeuronGroupError{"", "gone"}, NeuronGroupError{"neuroncore_counters", "a"},
                          NeuronGroupError{"execution_stats", "b"}, NeuronGroupError{"memory_used", "c"}));
  EXPECT_EQ(report.runtimes[0].cores, std::nullopt);
  EXPECT_EQ(report.runtimes[0].memory, std::nullopt);
  EXPECT_THAT(report.group_errors,
              ElementsAre(NeuronGroupError{"neuron_hw_counters", "d"}, NeuronGroupError{"neuron_hardware_info", "e"},
                          NeuronGroupError{"instance_info", "f"}));
}

TEST(NeuronMonitor, LeavesOutWhatIsOfAnotherKind) {
  const NeuronReport report = ReadReport(
      WithCores(R"({"0":{"neuroncore_utilization":-1,"flops":"x","effective_flops":"12.5","v3d":7,"v9":{"nc":3}}})"));
  EXPECT_THAT(*report.runtimes[0].cores, ElementsAre(NeuronCoreUse{0, std::nullopt, 12.5, {}}));
}

TEST(NeuronMonitor, SumsUpToTheLargestNumber) {
  const NeuronReport report =
      ReadReport(R"({"neuron_runtime_data":[{"report":{"memory_used":{"neuron_runtime_used_bytes":{"usage_breakdown":)"
                 R"({"neuroncore_memory_usage":{"0":{"a":9223372036854775807,"b":9223372036854775807,"c":-5}}}}}}}]})");
  EXPECT_EQ(report.runtimes[0].memory->cores[0].total_bytes, INT64_MAX);
}

TEST(NeuronMonitor, SaysWhatItCannotRead) {
  struct Case {
    std::string line;
    const char* why;
  };
  const std::string counters = "neuron_runtime_data[0].report.neuroncore_counters.neuroncores_in_use";
  const std::string of_x = counters + ".x: is no core's number";
  const std::string of_01 = counters + ".01: is no core's number";
  const std::string of_value = counters + ".0: is no object";
  const std::string twice = counters + ": has 0 twice";
  const Case cases[] = {
      {"", "ends too early"},
      {"[]", "is no object"},
      {R"({"neuron_runtime_data":)", "ends too early, after 23 bytes"},
      {R"({"neuron_runtime_data":7})", "neuron_runtime_data: is no list"},
      {R"({"neuron_runtime_data":[7]})", "neuron_runtime_data[0]: is no object"},
      {WithCores(R"({"x":{}})"), of_x.c_str()},
      {WithCores(R"({"01":{}})"), of_01.c_str()},
      {WithCores(R"({"0":7})"), of_value.c_str()},
      {WithCores(R"({"0":{},"0":{}})"), twice.c_str()},
      {R"({"system_data":{"neuron_hw_counters":{"neuron_devices":[{}]}}})",
       "system_data.neuron_hw_counters.neuron_devices[0]: has no neuron_device_index"},
      {R"({"system_data":{"neuron_hw_counters":{"neuron_devices":[{"neuron_device_index":2},)"
       R"({"neuron_device_index":2}]}}})",
       "neuron_devices: has 2 twice"},
  };
  for (const Case& c : cases) {
    const Result<NeuronReport> report = ParseNeuronMonitorLine(c.line);
    ASSERT_FALSE(report.ok()) << c.line;
    EXPECT_EQ(report.status().code(), ErrorCode::kBadInput);
    EXPECT_EQ(report.status().what(), "read a line of neuron-monitor");
    EXPECT_THAT(report.status().why(), HasSubstr(c.why));
  }
}

TEST(NeuronMonitor, RefusesEachCutOfALine) {
  const std::string whole = kInf2Report;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseNeuronMonitorLine(whole.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace kprof
