#include "daemon/ingest/nsys/nsys_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/ingest/nsys/nsys_graph_nodes.h"
#include "daemon/ingest/nsys/nsys_thread_events.h"
#include "daemon/ingest/text/private_names.h"
#include "tests/unit/ingest/made_source.h"
#include "tests/unit/ingest/recorded_batches.h"

namespace kprof {
namespace {

// The parts of exports that tests put together, in the tool's own words: schema 3.20, as CREATE TABLE says it.
constexpr const char* kStrings = R"(
CREATE TABLE StringIds (
    -- Consolidation of repetitive string values.

    id                          INTEGER   NOT NULL   PRIMARY KEY,      -- ID reference value.
    value                       TEXT      NOT NULL                     -- String value.
);
INSERT INTO StringIds VALUES (1, 'void gemm<int>(int*)'), (2, 'gemm'), (3, '_Z4gemmIiEvPi'),
    (4, 'cudaLaunchKernel_v7000'), (5, 'cuLaunchKernel'), (6, 'worker'), (7, 'registered'), (8, 'main'), (9, 'libc.so'),
    (10, 'read'), (11, '{"k": 1}'), (3000000, 'far away');
)";
constexpr const char* kMeta = R"(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.2'), ('EXPORT_HOST', 'secret-host');
)";
constexpr const char* kLabels = R"(
CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES (1, 'REGULAR', 'Regular');
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'HTOD', 'Host-to-Device');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'P', 'Pageable'), (2, 'D', 'Device');
CREATE TABLE ENUM_NSYS_EVENT_CLASS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES (0, 'R', 'CUDA runtime');
)";
constexpr const char* kKernelTable = R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start                       INTEGER   NOT NULL,                    -- Event start timestamp (ns).
    end                         INTEGER   NOT NULL,                    -- Event end timestamp (ns).
    deviceId                    INTEGER   NOT NULL,                    -- Device ID.
    contextId                   INTEGER   NOT NULL,                    -- Context ID.
    streamId                    INTEGER   NOT NULL,                    -- Stream ID.
    correlationId               INTEGER,                               -- REFERENCES CUPTI_ACTIVITY_KIND_RUNTIME(correlationId)
    globalPid                   INTEGER,                               -- Serialized GlobalId.
    demangledName               INTEGER   NOT NULL,                    -- REFERENCES StringIds(id) -- Kernel function name
    shortName                   INTEGER   NOT NULL,                    -- REFERENCES StringIds(id) -- Base kernel function name
    mangledName                 INTEGER,                               -- REFERENCES StringIds(id) -- Raw C++ mangled name
    launchType                  INTEGER,                               -- REFERENCES ENUM_CUDA_KERNEL_LAUNCH_TYPE(id)
    gridX                       INTEGER   NOT NULL,                    -- X-dimension grid size.
    graphNodeId                 INTEGER                                -- REFERENCES CUDA_GRAPH_NODE_EVENTS(graphNodeId)
);
)";
constexpr const char* kRuntimeTable = R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start                       INTEGER   NOT NULL,                    -- Event start timestamp (ns).
    end                         INTEGER   NOT NULL,                    -- Event end timestamp (ns).
    eventClass                  INTEGER   NOT NULL,                    -- REFERENCES ENUM_NSYS_EVENT_CLASS(id)
    globalTid                   INTEGER,                               -- Serialized GlobalId.
    correlationId               INTEGER,                               -- ID
    nameId                      INTEGER   NOT NULL,                    -- REFERENCES StringIds(id) -- Function name
    returnValue                 INTEGER   NOT NULL,                    -- Return value of the function call.
    callchainId                 INTEGER                                -- REFERENCES CUDA_CALLCHAINS(id)
);
)";
constexpr const char* kNvtxTable = R"(
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
    domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
    int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
)";

// Of pid 100 and 200, thread 101 and 201, of virtual machine 1.
constexpr int64_t kMachine = int64_t{1} << 48;
constexpr int64_t kPid100 = kMachine | int64_t{100} << 24;
constexpr int64_t kPid200 = kMachine | int64_t{200} << 24;
const std::string kP100 = std::to_string(kPid100);
const std::string kP200 = std::to_string(kPid200);
const std::string kT101 = std::to_string(kPid100 | 101);
const std::string kT201 = std::to_string(kPid200 | 201);

std::string Export(const std::string& sql) {
  return DatabaseOf(std::string(kStrings) + kMeta + kLabels + sql);
}

struct ReadResult {
  Status status;
  RecordedBatches batches;
};

ReadResult ReadBytes(std::string_view bytes) {
  const MadeSource source(bytes);
  ReadResult result;
  result.status = ReadNsys(source.file(), result.batches);
  return result;
}

RecordedBatches Read(const std::string& sql) {
  ReadResult result = ReadBytes(Export(sql));
  EXPECT_TRUE(result.status.ok()) << result.status.ToString();
  return std::move(result.batches);
}

TEST(LooksLikeNsys, IsAnySqliteDatabase) {
  EXPECT_TRUE(LooksLikeNsys(DatabaseOf("CREATE TABLE t (x)")));
  EXPECT_FALSE(LooksLikeNsys("SQLite format 3"));
  EXPECT_FALSE(LooksLikeNsys("{\"traceEvents\": []}"));
  EXPECT_FALSE(LooksLikeNsys(""));
}

TEST(NsysReader, TakesNothingElseForAnExport) {
  struct Case {
    std::string bytes;
    const char* why;
    ErrorCode code = ErrorCode::kNotFound;
  };
  for (const Case& c : {Case{"", "META_DATA_EXPORT and StringIds"},
                        Case{std::string(5000, 'x'), "not a database", ErrorCode::kBadInput},
                        Case{DatabaseOf("CREATE TABLE t (start, end)"), "META_DATA_EXPORT and StringIds"},
                        Case{DatabaseOf(kStrings), "neither the table META_DATA_EXPORT nor one of events"}}) {
    const ReadResult result = ReadBytes(c.bytes);
    EXPECT_EQ(result.status.code(), c.code);
    EXPECT_NE(result.status.ToString().find(c.why), std::string::npos) << result.status.ToString();
    EXPECT_TRUE(result.batches.events.empty());
  }
}

TEST(NsysReader, AnExportWithoutEventsIsOne) {
  EXPECT_TRUE(Read("").events.empty());
}

TEST(NsysReader, KernelsAreSlicesOnTheirStreams) {
  const RecordedBatches read =
      Read(std::string(kKernelTable) + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 55, " +
           kP100 + ", 1, 2, 3, 1, 32, NULL);");
  ASSERT_EQ(read.events.size(), 1U);
  const RecordedEvent& kernel = read.events[0];
  EXPECT_EQ(kernel.kind, EventKind::kSlice);
  EXPECT_EQ(kernel.category, "kernel");
  EXPECT_EQ(kernel.name, "void gemm<int>(int*)");
  EXPECT_EQ(kernel.time_ns, 1000);
  EXPECT_EQ(kernel.duration_ns, 500);
  EXPECT_EQ(kernel.correlation, 55);
  EXPECT_EQ(kernel.track.kind, "gpu_stream");
  EXPECT_EQ(kernel.track.name, "GPU 0 stream 7");
  EXPECT_EQ(kernel.track.pid, "100");
  EXPECT_EQ(kernel.track.device, 0);
  EXPECT_EQ(kernel.track.stream, 7);
  const std::map<std::string, std::string> args = {
      {"deviceId", "0"},       {"contextId", "1"},        {"streamId", "7"},
      {"correlationId", "55"}, {"globalPid", kP100},      {"shortName", "gemm"},
      {"gridX", "32"},         {"launchType", "Regular"}, {"mangledName", "_Z4gemmIiEvPi"},
  };
  EXPECT_EQ(kernel.args, args);
}

TEST(NsysReader, WhatHasNoTextKeepsItsNumber) {
  const RecordedBatches read =
      Read(std::string(kKernelTable) + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 1, 0, 1, 7, 5, " + kP100 +
           ", 77, 2, 78, 9, 1, NULL);");
  EXPECT_EQ(read.events[0].name, "gemm");
  EXPECT_EQ(read.events[0].Arg("demangledName"), "77");
  EXPECT_EQ(read.events[0].Arg("mangledName"), "78");
  EXPECT_EQ(read.events[0].Arg("launchType"), "9");
}

// Schema 3.25 has columns that 3.20 has not; a cut file has lost its comments, keys and labels.
TEST(NsysReader, OtherVersionsHaveOtherColumns) {
  const ReadResult result = ReadBytes(
      DatabaseOf("CREATE TABLE StringIds (id INT, value TEXT);"
                 "INSERT INTO StringIds VALUES (9, 'long'), (3435062, 'short');"
                 "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (tensorSizeMinusOneElements TEXT, \"end\" INT, shortName INT,"
                 " start INT, demangledName INT, clusterX INT, launchType INT);"
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('[]', 20, 3435062, 10, 9, 2, 1);"));
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  const RecordedEvent kernel = result.batches.events[0];
  EXPECT_EQ(kernel.name, "long");
  EXPECT_EQ(kernel.duration_ns, 10);
  EXPECT_EQ(kernel.correlation, kNoValue);
  EXPECT_EQ(kernel.track.name, "GPU");
  const std::map<std::string, std::string> args = {
      {"tensorSizeMinusOneElements", "[]"}, {"shortName", "short"}, {"clusterX", "2"}, {"launchType", "1"}};
  EXPECT_EQ(kernel.args, args);
}

TEST(NsysReader, CorrelationsOfTwoProcessesDoNotCollide) {
  const RecordedBatches read =
      Read(std::string(kKernelTable) + kRuntimeTable +
           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 5, " + kP100 +
           ", 1, 2, 3, 1, 1, NULL), (10, 20, 0, 1, 7, 5, " + kP200 + ", 1, 2, 3, 1, 1, NULL);" +
           "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " + kT201 + ", 5, 4, 0, NULL), (1, 2, 0, " +
           kT101 + ", 5, 4, 0, NULL);");
  const std::vector<RecordedEvent> kernels = read.Of("kernel");
  const std::vector<RecordedEvent> calls = read.Of("cuda_runtime");
  EXPECT_NE(kernels[0].correlation, kernels[1].correlation);
  EXPECT_EQ(kernels[0].correlation, calls[1].correlation);
  EXPECT_EQ(kernels[1].correlation, calls[0].correlation);
  for (const RecordedEvent& event : read.events) EXPECT_EQ(event.Arg("correlationId"), "5");
  EXPECT_NE(kernels[0].track.id, kernels[1].track.id);
}

TEST(NsysReader, CopiesAndMemsetsAreCalledAsKinetosAre) {
  const RecordedBatches read = Read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, bytes, copyKind, srcKind, dstKind);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 8, 1, 0, 2), (1, 2, 8, 2, 2, NULL), (1, 2, 8, 99, 0, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, value, bytes, memKind);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, 0, 64, 2), (1, 2, 0, 64, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, syncType);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2, 0, 1, 4294967295, 3);
)");
  ASSERT_EQ(read.events.size(), 6U);
  EXPECT_EQ(read.events[0].name, "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(read.events[0].Arg("copyKind"), "Host-to-Device");
  EXPECT_EQ(read.events[1].name, "Memcpy DtoH");
  EXPECT_EQ(read.events[1].Arg("copyKind"), "2");
  EXPECT_EQ(read.events[2].name, "Memcpy (Pageable -> Device)");
  EXPECT_EQ(read.events[3].name, "Memset (Device)");
  EXPECT_EQ(read.events[4].name, "Memset");
  EXPECT_EQ(read.events[5].name, "Stream Sync");
  EXPECT_EQ(read.events[5].track.name, "GPU 0 context 1");
  EXPECT_FALSE(read.events[5].track.stream);
}

TEST(NsysReader, WhatIsNoNumberIsNoTime) {
  const RecordedBatches read = Read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, bytes);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES ('abc', 5, 1), (1.5, 5, 1), (3, 'x', 1), (4, 5, 1);)");
  ASSERT_EQ(read.events.size(), 3U);
  EXPECT_EQ(read.events[0].time_ns, 2);
  EXPECT_EQ(read.events[1].time_ns, 3);
  EXPECT_EQ(read.events[1].duration_ns, kNoValue);
  EXPECT_EQ(read.events[2].time_ns, 4);
}

TEST(NsysReader, StreamsOfTwoContextsAreTwoTracks) {
  const RecordedBatches read = Read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, 0, 1, 7), (1, 2, 0, 2, 7), (3, 4, 0, 1, 7);)");
  EXPECT_EQ(read.tracks.size(), 2U);
  EXPECT_EQ(read.events[0].track.name, "GPU 0 stream 7");
  EXPECT_EQ(read.events[1].track.name, "GPU 0 context 2 stream 7");
  EXPECT_EQ(read.events[2].track.id, read.events[0].track.id);
}

TEST(NsysReader, ADeviceIsTheHostsNotTheProcesss) {
  const RecordedBatches read = Read(R"(
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 100);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, globalPid);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, 0, 1, 7, )" +
                                    kP100 + ");");
  EXPECT_EQ(read.events[0].track.device, 3);
  EXPECT_EQ(read.events[0].track.name, "GPU 3 stream 7");
  EXPECT_EQ(read.events[0].Arg("deviceId"), "0");
}

TEST(NsysReader, CudaEventsWithoutATimeAreMetadata) {
  const RecordedBatches read = Read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp, deviceId, contextId, streamId, correlationId, eventId);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (50, 0, 1, 7, 3, 9), (0, 0, 1, 7, 4, 10);)");
  EXPECT_EQ(read.events[0].kind, EventKind::kInstant);
  EXPECT_EQ(read.events[0].time_ns, 50);
  EXPECT_EQ(read.events[0].Arg("eventId"), "9");
  EXPECT_EQ(read.events[1].kind, EventKind::kMetadata);
  EXPECT_EQ(read.events[1].Arg("correlationId"), "4");
}

TEST(NsysReader, CallsAreWithoutTheirVersions) {
  const RecordedBatches read =
      Read(std::string(kRuntimeTable) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 0, " + kT101 +
           ", 5, 4, 0, 0), (5, 9, 1, " + kT101 + ", 6, 5, 719, NULL);");
  EXPECT_EQ(read.events[0].category, "cuda_runtime");
  EXPECT_EQ(read.events[0].name, "cudaLaunchKernel");
  EXPECT_EQ(read.events[0].Arg("nameId"), "cudaLaunchKernel_v7000");
  EXPECT_EQ(read.events[0].Arg("eventClass"), "CUDA runtime");
  EXPECT_EQ(read.events[0].Arg("callchainId"), "0");
  EXPECT_EQ(read.events[1].category, "cuda_driver");
  EXPECT_EQ(read.events[1].name, "cuLaunchKernel");
  EXPECT_FALSE(read.events[1].Has("nameId"));
  EXPECT_EQ(read.events[1].Arg("returnValue"), "719");
}

TEST(WithoutApiVersion, CutsOneVersion) {
  EXPECT_EQ(WithoutApiVersion("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(WithoutApiVersion("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2");
  for (const char* name : {"", "_v1", "cuLaunchKernel", "cudaMemcpy2D", "x_v", "_v", "12", "cudaMalloc_x7"})
    EXPECT_EQ(WithoutApiVersion(name), name);
}

TEST(NsysReader, RangesMarksAndNames) {
  const std::string columns =
      "INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, category, text, textId, globalTid, endGlobalTid, "
      "domainId, "
      "uint64Value, doubleValue, jsonTextId) VALUES ";
  const RecordedBatches read = Read(
      std::string(kNvtxTable) + columns + "(10, 20, 59, NULL, 4, 'step', NULL, " + kT101 +
      ", NULL, 1, 42, NULL, NULL), " + "(11, 15, 59, NULL, NULL, NULL, 7, " + kT101 + ", NULL, 0, NULL, 2.5, 11), " +
      "(12, 30, 60, 1, NULL, 'a', NULL, " + kT101 + ", " + kT201 + ", 1, NULL, NULL, NULL), " +
      "(13, 40, 60, 2, NULL, 'b', NULL, " + kT101 + ", " + kT101 + ", 1, NULL, NULL, NULL), " +
      "(14, NULL, 34, NULL, NULL, 'mark', NULL, " + kT101 + ", NULL, NULL, NULL, NULL, NULL), " +
      "(16, NULL, 59, NULL, NULL, 'open', NULL, " + kT101 + ", NULL, NULL, NULL, NULL, NULL), " +
      "(-500, NULL, 75, NULL, NULL, 'library', NULL, " + kT101 + ", NULL, 1, NULL, NULL, NULL), " +
      "(-400, NULL, 33, NULL, 4, 'layers', NULL, " + kT101 + ", NULL, 1, NULL, NULL, NULL), " +
      "(-300, NULL, 39, NULL, NULL, 'feeder', NULL, " + kT101 + ", NULL, NULL, NULL, NULL, NULL);");
  ASSERT_EQ(read.events.size(), 9U);
  std::map<std::string, RecordedEvent> by_name;
  for (const RecordedEvent& event : read.events) {
    EXPECT_EQ(event.category, "nvtx");
    by_name[event.name] = event;
  }
  const RecordedEvent step = by_name["step"];
  EXPECT_EQ(step.kind, EventKind::kSlice);
  EXPECT_EQ(step.duration_ns, 10);
  EXPECT_EQ(step.track.kind, "cpu_thread");
  EXPECT_EQ(step.track.name, "feeder");
  EXPECT_EQ(step.Arg("domain"), "library");
  EXPECT_EQ(step.Arg("category"), "layers");
  EXPECT_EQ(step.Arg("uint64Value"), "42");
  EXPECT_FALSE(step.Has("text"));
  EXPECT_EQ(by_name["registered"].Arg("doubleValue"), "2.5");
  EXPECT_EQ(by_name["registered"].Arg("jsonTextId"), "{\"k\": 1}");
  EXPECT_FALSE(by_name["registered"].Has("domain"));
  EXPECT_EQ(by_name["a"].track.kind, "async");
  EXPECT_EQ(by_name["a"].track.name, "NVTX ranges of library");
  EXPECT_EQ(by_name["a"].track.id, by_name["b"].track.id);
  EXPECT_EQ(by_name["a"].Arg("endGlobalTid"), kT201);
  EXPECT_EQ(by_name["mark"].kind, EventKind::kInstant);
  EXPECT_EQ(by_name["open"].kind, EventKind::kSlice);
  EXPECT_EQ(by_name["open"].duration_ns, kNoValue);
  EXPECT_EQ(by_name["library"].kind, EventKind::kMetadata);
  EXPECT_EQ(by_name["library"].time_ns, -500);
  EXPECT_EQ(by_name["layers"].Arg("category"), "4");
}

TEST(NsysReader, SystemEventsHaveTheirCallChains) {
  const RecordedBatches read = Read(R"(
CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, stackDepth INTEGER NOT NULL,
    PRIMARY KEY (id, stackDepth));
INSERT INTO OSRT_CALLCHAINS VALUES (1, 8, 9, 1), (1, 10, 9, 0), (2, 12345, 9, 0);
CREATE TABLE OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId);
INSERT INTO OSRT_API VALUES (1, 5, 27, )" +
                                    kT101 + R"(, 10, 3, 0, 1), (6, 7, 27, )" + kT101 + R"(, 10, 3, 0, 0);
CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);
INSERT INTO SAMPLING_CALLCHAINS VALUES (77, 8, 9, 0);
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles);
INSERT INTO COMPOSITE_EVENTS VALUES (77, 3, 1, 1, )" +
                                    kT101 + R"(, 100), (78, 4, 1, 1, )" + kT101 + R"(, 100);
CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid, threadState, threadBlock);
INSERT INTO SCHED_EVENTS VALUES (2, 3, 1, )" +
                                    kT101 + ", 0, NULL), (9, 3, 0, " + kT101 + ", 0, NULL);");
  const std::vector<RecordedEvent> calls = read.Of("os_runtime");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].name, "read");
  EXPECT_EQ(calls[0].Arg("callchainId"), "[\"read (libc.so)\",\"main (libc.so)\"]");
  EXPECT_EQ(calls[1].Arg("callchainId"), "0");
  EXPECT_EQ(calls[0].track.kind, "other");
  EXPECT_EQ(calls[0].track.name, "OS runtime");
  EXPECT_EQ(calls[0].track.tid, "101");
  const std::vector<RecordedEvent> samples = read.Of("cpu_sample");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].kind, EventKind::kInstant);
  EXPECT_EQ(samples[0].name, "main");
  EXPECT_EQ(samples[0].Arg("callchain"), "[\"main (libc.so)\"]");
  EXPECT_EQ(samples[1].name, "sample");
  const std::vector<RecordedEvent> switches = read.Of("sched");
  ASSERT_EQ(switches.size(), 2U);
  EXPECT_EQ(switches[0].name, "scheduled in");
  EXPECT_EQ(switches[1].name, "scheduled out");
  EXPECT_EQ(switches[1].Arg("cpu"), "3");
  EXPECT_EQ(switches[1].track.id, samples[0].track.id);
}

TEST(NsysReader, FileAccessesKnowTheirFiles) {
  const RecordedBatches read = Read(R"(
CREATE TABLE OSRT_FILE_ACCESS_DESCRIPTORS (fileAccessId, processId, openedAt, closedAt, filePath);
INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (0, 100, 5, 9, '/data/x');
CREATE TABLE OSRT_FILE_ACCESS_EVENTS (fileAccessId, threadId, startedAt, endedAt, eventType, apiCallId, bytesProcessed);
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (0, 101, 6, 8, 3, 10, 4096);)");
  const RecordedEvent event = read.events[0];
  EXPECT_EQ(event.category, "os_file");
  EXPECT_EQ(event.name, "read");
  EXPECT_EQ(event.duration_ns, 2);
  EXPECT_EQ(event.Arg("filePath"), "/data/x");
  EXPECT_EQ(event.Arg("bytesProcessed"), "4096");
  EXPECT_EQ(event.track.pid, "100");
}

TEST(NsysReader, MetricsAreCounters) {
  const RecordedBatches read = Read(R"(
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (258, 1, 'General Metrics', 4, 'SMs Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
INSERT INTO GPU_METRICS VALUES (10, 258, 4, '97'), (20, 258, 4, 3), (20, 258, 5, 1.0),
  (30, 258, 5, NULL), (31, 258, 5, 'no'), (NULL, 258, 5, 1);
CREATE TABLE GENERIC_EVENTS (rawTimestamp, timestamp, typeId, data);
INSERT INTO GENERIC_EVENTS VALUES (1, 30, 6, '{"a": {"b": [1, 2]}, "watts" : 212.5, "text": "x", "n": -3}'),
    (1, 31, 6, '{"a": '), (1, 32, 6, NULL);)");
  std::vector<RecordedEvent> counters;
  for (const RecordedEvent& event : read.events) {
    if (event.kind == EventKind::kCounter) counters.push_back(event);
  }
  ASSERT_EQ(counters.size(), 5U);
  EXPECT_EQ(counters[0].track.name, "SMs Active [Throughput %]");
  EXPECT_EQ(counters[0].track.kind, "counter");
  EXPECT_EQ(counters[0].track.device, 2);
  EXPECT_EQ(counters[0].value, 97);
  EXPECT_EQ(counters[2].track.name, "metric 5");
  EXPECT_EQ(counters[3].track.name, "watts");
  EXPECT_EQ(counters[3].value, 212.5);
  EXPECT_EQ(counters[4].value, -3);
  EXPECT_EQ(read.Of("generic").size(), 3U);
  const std::vector<std::string> warnings = {
      "GPU_METRICS: 1 of 6 rows have no time, or none that can be, and are left out",
      "GPU_METRICS: 2 of 6 rows have no value and are left out"};
  EXPECT_EQ(read.warnings, warnings);
}

// What the tool writes of CUDA graphs unless it is told to trace their nodes.
TEST(NsysReader, LaunchesOfGraphsAreSlicesOnTheirStreams) {
  const RecordedBatches read = Read(std::string(kKernelTable) + kRuntimeTable +
                                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, 7, 54, " + kP100 +
                                    ", 1, 2, 3, 1, 32, NULL);"
                                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (800, 900, 0, " +
                                    kT101 + R"(, 55, 4, 0, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
    start                       INTEGER   NOT NULL,                    -- Event start timestamp (ns).
    end                         INTEGER   NOT NULL,                    -- Event end timestamp (ns).
    deviceId                    INTEGER   NOT NULL,                    -- Device ID.
    graphId                     INTEGER,                               -- REFERENCES CUDA_GRAPH_EVENTS(graphId)
    graphExecId                 INTEGER   NOT NULL,                    -- REFERENCES CUDA_GRAPH_EVENTS(graphExecId)
    contextId                   INTEGER   NOT NULL,                    -- Context ID.
    greenContextId              INTEGER,                               -- Green context ID.
    streamId                    INTEGER   NOT NULL,                    -- Stream ID.
    correlationId               INTEGER,                               -- REFERENCES CUPTI_ACTIVITY_KIND_RUNTIME(correlationId)
    globalPid                   INTEGER                                -- Serialized GlobalId.
);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1000, 5000, 0, 2, 6, 1, NULL, 7, 55, )" +
                                    kP100 + "), (6000, 7000, 0, NULL, 6, 1, NULL, 7, 56, " + kP100 + ");");
  const std::vector<RecordedEvent> graphs = read.Of("cuda_graph");
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[0].kind, EventKind::kSlice);
  EXPECT_EQ(graphs[0].name, "CUDA graph 2");
  EXPECT_EQ(graphs[0].time_ns, 1000);
  EXPECT_EQ(graphs[0].duration_ns, 4000);
  EXPECT_EQ(graphs[0].Arg("graphId"), "2");
  EXPECT_EQ(graphs[0].Arg("graphExecId"), "6");
  EXPECT_EQ(graphs[0].track.name, read.Of("kernel")[0].track.name);
  EXPECT_EQ(graphs[0].track.stream, 7);
  EXPECT_EQ(graphs[0].correlation, read.Of("cuda_runtime")[0].correlation);
  EXPECT_EQ(graphs[1].name, "CUDA graph");
  EXPECT_TRUE(read.warnings.empty());
  EXPECT_FALSE(read.facts.contains("source.unknown_tables"));
}

TEST(NsysReader, NodesOfGraphsAreInstantsAndTellWhatWasCaptured) {
  const RecordedBatches read = Read(std::string(kKernelTable) + R"(
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (
    start                       INTEGER   NOT NULL,                    -- Event start timestamp (ns).
    end                         INTEGER,                               -- Event end timestamp (ns).
    eventClass                  INTEGER   NOT NULL,                    -- REFERENCES ENUM_NSYS_EVENT_CLASS(id)
    globalTid                   INTEGER,                               -- Serialized GlobalId.
    nameId                      INTEGER   NOT NULL,                    -- REFERENCES StringIds(id)
    graphNodeId                 INTEGER,                               -- Graph node ID.
    originalGraphNodeId         INTEGER                                -- Reference to the original graph node ID.
);
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (900, NULL, 54, )" +
                                    kT101 + ", 4, 9, 7), (100, NULL, 54, " + kT101 + ", 4, 7, NULL), (950, NULL, 54, " +
                                    kT101 + ", 4, 12, 9), (960, NULL, 54, " + kT101 + ", 4, 13, 13);");
  const std::vector<RecordedEvent> nodes = read.Of("cuda_graph_node");
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].kind, EventKind::kInstant);
  EXPECT_EQ(nodes[0].time_ns, 900);
  EXPECT_EQ(nodes[0].track.kind, "cpu_thread");
  EXPECT_EQ(nodes[0].Arg("graphNodeId"), "9");
  EXPECT_EQ(nodes[0].Arg("originalGraphNodeId"), "7");
  ASSERT_EQ(read.side.size(), 1U);
  EXPECT_EQ(read.side[0].table, GraphNodeTable());
  using Column = std::vector<int64_t>;
  EXPECT_EQ(read.side[0].columns[1], (Column{7, 9, 12, 13}));
  EXPECT_EQ(read.side[0].columns[2], (Column{kNoValue, 7, 9, 13}));
  EXPECT_EQ(read.side[0].columns[3], (Column{7, 7, 7, 13}));  // a node that is said to be its own copy ends nothing
  EXPECT_FALSE(read.facts.contains("source.unknown_tables"));
}

TEST(NsysReader, OverheadLiesBesideItsThread) {
  const RecordedBatches read = Read(R"(
CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId, returnValue);
INSERT INTO PROFILER_OVERHEAD VALUES (1, 9, )" +
                                    kT101 + R"(, 10, 0);
CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER PRIMARY KEY, name, label);
INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES (3, 'F', 'Buffer flush');
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, globalTid, nameId, overheadType);
INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (2, 3, )" +
                                    kT101 + ", NULL, 3);");
  ASSERT_EQ(read.Of("overhead").size(), 2U);
  EXPECT_EQ(read.events[0].name, "read");
  EXPECT_EQ(read.events[1].name, "Buffer flush");
  EXPECT_EQ(read.events[0].track.name, "overhead");
}

TEST(NsysReader, TablesThatItDoesNotKnowAreKeptAndAFact) {
  const RecordedBatches read = Read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_NEW (
  start INTEGER, -- when
  end INTEGER,
  globalTid INTEGER,
  what INTEGER, -- REFERENCES StringIds(id)
  x REAL);
INSERT INTO CUPTI_ACTIVITY_KIND_NEW VALUES (5, 8, )" +
                                    kT101 + R"(, 6, 0.25);
CREATE TABLE MARKS (timestamp INTEGER, name TEXT, raw BLOB);
INSERT INTO MARKS VALUES (7, 'here', x'00ff');
CREATE TABLE NO_TIMES (x INTEGER);)");
  ASSERT_EQ(read.events.size(), 2U);
  EXPECT_EQ(read.events[0].category, "cupti_activity_kind_new");
  EXPECT_EQ(read.events[0].kind, EventKind::kSlice);
  EXPECT_EQ(read.events[0].Arg("what"), "worker");
  EXPECT_EQ(read.events[0].Arg("x"), "0.25");
  EXPECT_EQ(read.events[1].kind, EventKind::kInstant);
  EXPECT_EQ(read.events[1].name, "here");
  EXPECT_EQ(read.events[1].Arg("raw"), "0x00ff");
  EXPECT_EQ(read.facts.at("source.unknown_tables"), R"({"CUPTI_ACTIVITY_KIND_NEW":1,"MARKS":1})");
  EXPECT_EQ(read.warnings, std::vector<std::string>{"tables without times were not read: NO_TIMES"});
}

TEST(NsysReader, RowsOfTablesThatItDoesNotKnowAreMissedWhereTheyAreLost) {
  const RecordedBatches read =
      Read("CREATE TABLE MARKS (timestamp, name); INSERT INTO MARKS VALUES (7, 'a'), (NULL, 'b');");
  EXPECT_EQ(read.facts.at("source.unknown_tables"), R"({"MARKS":1})");
  EXPECT_EQ(read.warnings,
            std::vector<std::string>{"MARKS: 1 of 2 rows have no time, or none that can be, and are left out"});
}

TEST(NsysReader, OnlyTablesAreTables) {
  const RecordedBatches read = Read(std::string(kRuntimeTable) + R"(
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end;
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER AS (start + 1), bytes);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, bytes) VALUES (3, 4);
CREATE VIRTUAL TABLE SCHED_EVENTS USING fts5(start);
CREATE TABLE "odd name" (start, end);
CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END;)");
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.events[0].category, "gpu_memset");
  EXPECT_EQ(read.events[0].duration_ns, kNoValue);  // what is computed is not read
}

TEST(NsysReader, TablesOfOddNamesAreReadOrTold) {
  const RecordedBatches read = Read(
      "CREATE TABLE \"weird \"\"t\" (start, end, \"a\"\"b\");"
      "INSERT INTO \"weird \"\"t\" VALUES (3, 5, 7);"
      "CREATE TABLE \"\t\" (start, end); CREATE TABLE " +
      std::string(101, 'a') + " (start, end);");
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.events[0].category, "weird \"t");
  EXPECT_EQ(read.events[0].Arg("a\"b"), "7");
  EXPECT_EQ(read.facts.at("source.unknown_tables"), R"({"weird \"t":1})");
  EXPECT_EQ(read.warnings, std::vector<std::string>{"2 tables were not read: their names are longer than 100 letters, "
                                                    "or have others than ASCII's"});
}

TEST(NsysReader, TablesAndColumnsThatAreMoreThanMayBeAreTold) {
  std::string sql = "CREATE TABLE OSRT_API (start, end, nameId";
  for (int i = 0; i < 257; ++i) sql += ", c" + std::to_string(i);
  sql += "); INSERT INTO OSRT_API (start, end, nameId, c10, c255) VALUES (1, 5, 10, 7, 8);";
  for (int i = 0; i < 1100; ++i) sql += "CREATE TABLE t" + std::to_string(i) + " (a);";
  const RecordedBatches read = Read(sql);
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.events[0].Arg("c10"), "7");
  EXPECT_FALSE(read.events[0].Has("c255"));
  ASSERT_EQ(read.warnings.size(), 3U);
  EXPECT_TRUE(read.warnings[0].starts_with("it has more than 1000 tables: the last 10")) << read.warnings[0];
  EXPECT_EQ(read.warnings[1], "OSRT_API: it has more than 250 columns: the last 10 were not read");
}

TEST(NsysReader, RowsWithoutATimeAreCounted) {
  const RecordedBatches read = Read(R"(
CREATE TABLE OSRT_API (start, end, nameId);
INSERT INTO OSRT_API VALUES (NULL, 5, 10), (9223372036854775807, 5, 10), (-3, -5, 10), (-3, -1, 10);)");
  ASSERT_EQ(read.events.size(), 2U);
  EXPECT_EQ(read.events[0].duration_ns, kNoValue);
  EXPECT_EQ(read.events[0].Arg("end"), "-5");
  EXPECT_EQ(read.events[1].duration_ns, 2);
  EXPECT_EQ(read.warnings,
            std::vector<std::string>{"OSRT_API: 2 of 4 rows have no time, or none that can be, and are left out"});
}

TEST(NsysReader, NumbersOfAnyTypeAreTimesAndIds) {
  const RecordedBatches read = Read(std::string(R"(
CREATE TABLE DIAGNOSTIC_EVENT (timestamp, text);
INSERT INTO DIAGNOSTIC_EVENT VALUES (5.0, 'a'), ('6', 'b'), ('7.4', 'c'), (' 8', 'd'), ('x', 'no'), ('', 'no'), (x'31', 'no'),
  (1e300, 'no'), ('1e300', 'no'), ('9223372036854775808', 'no'), (9e999, 'no'), ('nan', 'no'), ('-2e0', 'e');
CREATE TABLE OSRT_API (start, end, nameId, callchainId, correlationId);
INSERT INTO OSRT_API VALUES ('1', 9.0, 10.0, NULL, NULL), (2.6, '9', '10', NULL, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, )") +
                                    kT101 + R"(, 4.0, '4'), (1, 2, )" + kT101 + R"(, '5', 4.0);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ('1754324972242076786');)");
  const std::vector<RecordedEvent> said = read.Of("diagnostic");
  ASSERT_EQ(said.size(), 5u);
  const std::pair<const char*, int64_t> expected[] = {{"a", 5}, {"b", 6}, {"c", 7}, {"d", 8}, {"e", -2}};
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(said[i].name, expected[i].first);
    EXPECT_EQ(said[i].time_ns, expected[i].second);
  }
  EXPECT_EQ(read.warnings, std::vector<std::string>{
                               "DIAGNOSTIC_EVENT: 8 of 13 rows have no time, or none that can be, and are left out"});
  ASSERT_EQ(read.Of("os_runtime").size(), 2u);
  for (const RecordedEvent& call : read.Of("os_runtime")) EXPECT_EQ(call.name, "read");
  EXPECT_EQ(read.Of("os_runtime")[0].duration_ns, 8);
  EXPECT_EQ(read.Of("os_runtime")[1].duration_ns, 6);
  ASSERT_EQ(read.Of("cuda_runtime").size(), 2u);
  EXPECT_EQ(read.Of("cuda_runtime")[0].correlation, 4);
  EXPECT_EQ(read.Of("cuda_runtime")[1].correlation, 5);
  for (const RecordedEvent& call : read.Of("cuda_runtime")) {
    EXPECT_EQ(call.name, "cudaLaunchKernel");
    EXPECT_EQ(call.Arg("nameId"), "cudaLaunchKernel_v7000");
  }
  EXPECT_EQ(read.facts.at("base_unix_ns"), "1754324972242076786");
}

TEST(NsysReader, ValuesOfAnyTypeAreKept) {
  const RecordedBatches read = Read(R"(
CREATE TABLE DIAGNOSTIC_EVENT (timestamp, text, a, b, c, d, e);
INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'said', -9223372036854775808, 1e300, 9e999, 'text', 0.1);)");
  EXPECT_EQ(read.events[0].name, "said");
  EXPECT_EQ(read.events[0].Arg("a"), "-9223372036854775808");
  EXPECT_EQ(read.events[0].Arg("b"), "1e+300");
  EXPECT_EQ(read.events[0].Arg("c"), "Infinity");
  EXPECT_EQ(read.events[0].Arg("d"), "text");
  EXPECT_EQ(read.events[0].Arg("e"), "0.1");
}

constexpr const char* kSecrets = R"(
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('CAPTURE_EVENT_TYPE', 'Cuda'), ('CAPTURE_EVENT_TYPE', 'NvtxEvents'),
  ('PROCESS_0:COLLECT_CUDA_TRACE', 'true'), ('PROCESS_0:USER_NAME', 'secret-user'),
  ('PROCESS_0:WORKING_DIR', '/home/secret-user'), ('PROCESS_0:ARGUMENT_0', '--token=secret-token'),
  ('PROCESS_0:COMMAND', '/home/secret-user/run'), ('DEVICE_DISPLAY_NAME', 'secret-host'),
  ('PROCESS_0:ENVIRONMENT_VARIABLE', 'NCCL_ALGO=Ring'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'AWS_REGION=secret-region'),
  ('PROCESS_0:ENVIRONMENT_VARIABLE', 'CUDA_API_KEY=secret-key'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'secret-nameless'),
  ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HSA_x=secret'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'UCX_TLS=/secret'),
  ('TRACE_CMD', '/home/joe/secret --token=s'), ('COLLECT_ENV', 'PATH=/secret'), ('START_X', 'secret'),
  ('CUDA_ENV', 'AWS=secret');
CREATE TABLE UNKNOWN_ENV (timestamp INTEGER, env TEXT);
INSERT INTO UNKNOWN_ENV VALUES (1, 'AWS_SECRET=secret');
CREATE TABLE TARGET_INFO_PROCESS_ENV (rawTimestamp INTEGER, name TEXT, value TEXT, globalPid INTEGER);
INSERT INTO TARGET_INFO_PROCESS_ENV VALUES (5, 'PATH', '/home/secret', 16777216);
CREATE TABLE LAUNCHES (timestamp INTEGER, commandLine TEXT, environ TEXT, userName TEXT, kept TEXT);
INSERT INTO LAUNCHES VALUES (7, 'run --token=secret', 'A=secret', 'secret', 'told');
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid, devStateName, name, nameEnum, value);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'x', 'CpuCores', 1, '2'), (1, 'x', 'Hostname', 2, 'secret-host'),
  (1, 'x', 'IpAddress', 3, 'secret-address');
CREATE TABLE ProcessStreams (globalPid, filenameId, contentId);
CREATE TABLE ANALYSIS_FILE (id, filename, contentId, globalPid);
INSERT INTO ANALYSIS_FILE VALUES (1, '/home/secret-user/environment', 50, 1);
INSERT INTO StringIds VALUES (50, 'secret-output'), (51, 'secret-thread');
INSERT INTO ProcessStreams VALUES (1, 50, 50);
CREATE TABLE ANALYSIS_DETAILS (duration, env, user, hostName, config);
INSERT INTO ANALYSIS_DETAILS VALUES (3, 'A=secret', 'secret', 'secret', '{"env":{"A":"secret"}}');
CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, jsonTextId, jsonText);
INSERT INTO StringIds VALUES (52, '{"env":{"A":"secret"},"k":2}');
INSERT INTO NVTX_EVENTS VALUES (1, 5, 59, 1, 'r', 0, 52, '{"env":{"A":"secret","RANK":"1"}}'),
  (6, 7, 59, 1, 'env={''A'': ''secret''}', 0, NULL, NULL);
CREATE TABLE TARGET_INFO_NIC_INFO (guid, name);
INSERT INTO TARGET_INFO_NIC_INFO VALUES ('secret-guid', 'mlx5_0');
)";

TEST(NsysReader, TellsNothingThatNobodyMaySee) {
  const RecordedBatches read =
      Read(std::string(kSecrets) + kRuntimeTable + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 0, " + kT101 +
           ", 5, 4, 0, 0);CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);INSERT INTO SCHED_EVENTS VALUES "
           "(1, 1, 1, " +
           kT201 + ");CREATE TABLE PROCESSES (globalPid, pid, name);INSERT INTO PROCESSES VALUES (" + kP100 +
           ", 100, 'python'), (" + kP200 + ", 200, 'secret-process');" +
           "CREATE TABLE ThreadNames (nameId, priority, globalTid);INSERT INTO ThreadNames VALUES (6, 0, " + kT101 +
           "), (51, 0, " + kT201 + ");");
  const std::string all = read.AllText();
  EXPECT_EQ(all.find("secret"), all.npos) << all.substr(all.find("secret"), 40);
  EXPECT_EQ(read.facts.at("source.environment"), "[\"NCCL_ALGO=Ring\"]");
  ASSERT_EQ(read.Of("launches").size(), 1u);
  EXPECT_EQ(read.Of("launches")[0].args, (std::map<std::string, std::string>{{"kept", "told"}}));
  EXPECT_EQ(read.facts.at("source.system"), "[[\"CpuCores\",\"2\"]]");
  EXPECT_EQ(read.facts.at("source.analysis"), R"([{"duration":3,"config":"{}"}])");
  ASSERT_EQ(read.Of("nvtx").size(), 2u);
  EXPECT_EQ(read.Of("nvtx")[0].Arg("jsonText"), R"({"env":{"RANK":"1"}})");
  EXPECT_EQ(read.Of("nvtx")[0].Arg("jsonTextId"), R"({"k":2})");
  EXPECT_EQ(read.Of("nvtx")[1].name, "env={}");
  EXPECT_EQ(read.facts.at("left_out_of_texts"), "3");
  EXPECT_NE(read.facts.at("left_out_tables").find("TARGET_INFO_PROCESS_ENV"), std::string::npos);
  EXPECT_EQ(read.warnings, std::vector<std::string>());
  EXPECT_EQ(read.facts.at("source.nics"), "[{\"name\":\"mlx5_0\"}]");
  EXPECT_EQ(read.facts.at("source.capture"),
            "[[\"CAPTURE_EVENT_TYPE\",\"Cuda\"],[\"CAPTURE_EVENT_TYPE\",\"NvtxEvents\"],[\"PROCESS_0:COLLECT_CUDA_"
            "TRACE\",\"true\"]]");
  EXPECT_EQ(read.Of("cuda_runtime")[0].track.process, "python");
  EXPECT_EQ(read.Of("cuda_runtime")[0].track.name, "worker");
  EXPECT_FALSE(read.Of("sched")[0].track.process);
}

TEST(NsysReader, WhatOnlyLooksAtWhatItStartedMayNameAll) {
  const RecordedBatches read = Read(
      "CREATE TABLE META_DATA_CAPTURE (name, value);INSERT INTO META_DATA_CAPTURE VALUES "
      "('LINUX_PERF_OPTIONS:COLLECTION_MODE', 'ProcessTree');"
      "CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);INSERT INTO SCHED_EVENTS VALUES (1, 1, 1, " +
      kT201 + ");CREATE TABLE PROCESSES (globalPid, pid, name);INSERT INTO PROCESSES VALUES (" + kP200 +
      ", 200, 'loader');");
  EXPECT_EQ(read.Of("sched")[0].track.process, "loader");
}

TEST(IsKeptEnvironment, KeepsSettingsAndNoSecrets) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "OMP_NUM_THREADS", "RANK", "WORLD_SIZE"}) {
    EXPECT_TRUE(IsKeptEnvironment(name, "1")) << name;
    EXPECT_FALSE(IsKeptEnvironment(name, "/home/joe/y")) << name;
    EXPECT_FALSE(IsKeptEnvironment(name, std::string(300, '1'))) << name;
  }
  for (const char* name : {"", "PATH", "HOME", "AWS_SECRET_ACCESS_KEY", "CUDA_API_KEY", "TORCH_TOKEN", "NCCL_Password",
                           "XCUDA_X", "RANKS", "HF_TOKEN", "CUDA_HOME", "TORCH_auth", "HSA_x", "XLA_FLAGS", "TF_CONFIG",
                           "NCCL_COMM_ID", "NEURON_RT_ROOT_COMM_ID", "TORCH_MYNAME", "rank"})
    EXPECT_FALSE(IsKeptEnvironment(name, "1")) << name;
}

TEST(NsysReader, FactsSayWhen) {
  const RecordedBatches read = Read(R"(
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1754324972242076786, 'x');)");
  EXPECT_EQ(read.facts.at("base_unix_ns"), "1754324972242076786");
  EXPECT_EQ(read.facts.at("clock"), "unix");
  EXPECT_EQ(Read("").facts.at("clock"), "unknown");
}

// So many rows that they are several batches.
std::string ManyCalls(int count) {
  return "CREATE TABLE OSRT_API (start, end, nameId, x TEXT);"
         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
         std::to_string(count) + ") INSERT INTO OSRT_API SELECT -i, i, 10, i % 1000 FROM n;";
}

TEST(NsysReader, BatchesAreBounded) {
  const MadeSource source(Export(ManyCalls(150'000)));
  RecordedBatches read;
  read.most_rows = 65'536;
  ASSERT_TRUE(ReadNsys(source.file(), read).ok());
  EXPECT_EQ(read.events.size(), 150'000U);
  EXPECT_EQ(read.batches, 3);
  EXPECT_EQ(read.progress_bytes, source.file().size_bytes());
}

TEST(NsysReader, StopsWhereTheSinkDoes) {
  const MadeSource source(Export(ManyCalls(150'000)));
  RecordedBatches read;
  read.fail_at_batch = 2;
  EXPECT_EQ(ReadNsys(source.file(), read).code(), ErrorCode::kCancelled);
  EXPECT_EQ(read.batches, 2);
}

TEST(NsysReader, KeepsWhatIsBeforeDamage) {
  std::string bytes =
      Export(ManyCalls(50'000) + kKernelTable + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 1, 7, 5, " +
             kP100 + ", 1, 2, 3, 1, 1, NULL);");
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
            bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2 + 8192), '\x55');
  const ReadResult result = ReadBytes(bytes);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.batches.Of("kernel").size(), 1U);
  const size_t calls = result.batches.Of("os_runtime").size();
  EXPECT_GT(calls, 10'000U);
  EXPECT_LT(calls, 40'000U);
  ASSERT_EQ(result.batches.warnings.size(), 1U);
  EXPECT_TRUE(result.batches.warnings[0].starts_with("OSRT_API: damaged after " + std::to_string(calls) +
                                                     " rows, what follows is missing: "))
      << result.batches.warnings[0];
}

TEST(NsysReader, KeepsWhatIsBeforeACut) {
  const std::string bytes = Export(ManyCalls(50'000));
  const ReadResult result = ReadBytes(std::string_view(bytes).substr(0, bytes.size() / 2));
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_GT(result.batches.events.size(), 10'000U);
  ASSERT_EQ(result.batches.warnings.size(), 2U);
  EXPECT_EQ(result.batches.warnings[0], "the file ends at byte " + std::to_string(bytes.size() / 2) + ", " +
                                            std::to_string(bytes.size() - bytes.size() / 2) + " bytes are missing");
  EXPECT_TRUE(result.batches.warnings[1].starts_with("OSRT_API: damaged after "));
}

TEST(NsysReader, TextsThatCannotBeReadAreNumbers) {
  std::string bytes = Export(
      "CREATE TABLE OSRT_API (start, end, nameId); INSERT INTO OSRT_API VALUES (1, 2, 10), (3, 4, 99999), (5, 6, "
      "3000000);"
      "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
      "INSERT INTO StringIds SELECT i, 'x' || i FROM n;");
  // The last page with texts is the one of the highest numbers.
  const size_t at = bytes.rfind("far away") / 4096 * 4096;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + 4096),
            '\0');
  const ReadResult result = ReadBytes(bytes);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  ASSERT_EQ(result.batches.events.size(), 3U);
  EXPECT_EQ(result.batches.events[0].name, "read");
  EXPECT_EQ(result.batches.events[2].name, "");
  EXPECT_EQ(result.batches.events[2].Arg("nameId"), "3000000");
  ASSERT_FALSE(result.batches.warnings.empty());
  EXPECT_TRUE(result.batches.warnings[0].starts_with("StringIds: damaged, "));
}

// A table whose pages point back at themselves never ends by itself.
TEST(NsysReader, EndsWhereRowsGoInCircles) {
  std::string bytes = Export(ManyCalls(20'000));
  // All children of interior pages become the first leaf that they have.
  int changed = 0;
  for (size_t page = 1; page * 4096 < bytes.size(); ++page) {
    const size_t at = page * 4096;
    if (bytes[at] != 5) continue;  // an interior page of a table
    const size_t cells = static_cast<unsigned char>(bytes[at + 3]) << 8 | static_cast<unsigned char>(bytes[at + 4]);
    std::string self;
    for (int shift = 24; shift >= 0; shift -= 8) self += static_cast<char>((page + 1) >> shift & 0xff);
    for (size_t cell = 1; cell < cells; ++cell) {
      const size_t pointer = at + 12 + 2 * cell;
      const size_t place =
          static_cast<unsigned char>(bytes[pointer]) << 8 | static_cast<unsigned char>(bytes[pointer + 1]);
      bytes.replace(at + place, 4, self);
    }
    ++changed;
  }
  EXPECT_GT(changed, 0);
  const ReadResult result = ReadBytes(bytes);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_LE(result.batches.events.size(), bytes.size() / 5);
  EXPECT_FALSE(result.batches.warnings.empty());
}

}  // namespace
}  // namespace kprof
