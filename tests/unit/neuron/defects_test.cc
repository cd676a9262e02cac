// Cases that another tool, the profiler of nkipy's pull request 47, gets wrong: the truth of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/neuron/neuron_traces.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

// A kernel profile, event by event, with times in tenths of milliseconds.
class MadeProfile {
 public:
  MadeProfile& Call(const std::string& file, int line, const std::string& kernel) {
    calls_ += (calls_.empty() ? "" : ",");
    calls_ += R"({"filename":")" + file + R"(","lineno":)" + std::to_string(line) + R"(,"kernel_name":")" + kernel +
              R"(","call_index":)" + std::to_string(count_++) + "}";
    return *this;
  }
  // `start` or `stop` below 0: that half is not there.
  MadeProfile& Event(const std::string& type, int64_t tracking, int64_t start, int64_t stop,
                     const std::string& data = "", int nc = 0) {
    if (start >= 0) Half(type, "start", tracking, start, data, nc);
    if (stop >= 0) Half(type, "stop", tracking, stop, "", nc);
    return *this;
  }
  // On a physical core, with the core's own clock.
  MadeProfile& Core(int64_t tracking, int64_t start, int64_t stop, int core, int exec, int nc = 0) {
    const int64_t clock = 777 + core * 1'000'000;
    if (start >= 0) {
      Half("nc_exec_running", "start", tracking, start,
           "\"device_core_idx\":" + std::to_string(core) + ",\"exec_id\":" + std::to_string(exec) +
               ",\"nc_timestamp_ns\":" + std::to_string(start * kTick + clock),
           nc);
    }
    if (stop >= 0) {
      Half("nc_exec_running", "stop", tracking, stop, "\"nc_timestamp_ns\":" + std::to_string(stop * kTick + clock),
           nc);
    }
    return *this;
  }
  MadeProfile& Wall(int64_t start, int64_t stop) {
    wall_ = ",\"wall_start_ns\":" + Time(start) + ",\"wall_stop_ns\":" + Time(stop);
    return *this;
  }

  std::string Text() const {
    std::string events;
    for (const char c : "{\"events\":[" + events_ + "],\"data_version\":2}") {
      events += c == '"' ? std::string("\\\"") : std::string(1, c);
    }
    return "{\"kernel_calls\":[" + calls_ + "],\"events_json\":\"" + events + "\"" + wall_ + "}";
  }

 private:
  static constexpr int64_t kTick = kMs / 10;
  static std::string Time(int64_t time) { return std::to_string(1'780'000'000'000'000'000 + time * kTick); }
  void Half(const std::string& type, const char* phase, int64_t tracking, int64_t time, const std::string& data,
            int nc) {
    events_ += (events_.empty() ? "" : ",");
    events_ += R"({"event_type":")" + type + R"(","phase":")" + phase + R"(","nc_idx":)" + std::to_string(nc) +
               R"(,"tracking_id":)" + std::to_string(tracking) + R"(,"data":{)" + data + R"(},"timestamp_ns":)" +
               Time(time) + "}";
  }

  std::string calls_;
  std::string events_;
  std::string wall_;
  int count_ = 0;
};

class NeuronDefects : public testing::Test {
 protected:
  // "kernel executions nc_ms nrt_ms reading" of the rows of a table of lines.
  std::vector<std::string> LinesOf(const AnalysisAnswer& answer, size_t table = 0) {
    std::vector<std::string> rows;
    for (size_t i = 0; i < answer.rows(table).size(); ++i) {
      const AnalysisValue kernel = traces_.At(answer, table, i, "kernel");
      std::ostringstream row;
      row << (kernel.index() == 0 ? "-" : std::get<std::string>(kernel)) << ' '
          << traces_.Number(answer, table, i, "executions") << ' ' << Ms(traces_.Number(answer, table, i, "nc_ns"))
          << ' ' << Ms(traces_.Number(answer, table, i, "nrt_ns")) << ' '
          << std::get<std::string>(traces_.At(answer, table, i, "reading"));
      rows.push_back(row.str());
    }
    return rows;
  }
  static double Ms(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kMs); }
  double FactMs(const AnalysisAnswer& answer, const std::string& name) {
    return Ms(std::get<int64_t>(traces_.Fact(answer, name)));
  }
  // Categories with time, "category ms".
  std::vector<std::string> CategoriesOf(const AnalysisAnswer& answer) {
    std::vector<std::string> rows;
    for (size_t i = 0; i < answer.rows(0).size(); ++i) {
      const int64_t ns = traces_.Number(answer, 0, i, "ns");
      std::ostringstream row;
      row << std::get<std::string>(traces_.At(answer, 0, i, "category")) << ' ' << Ms(ns);
      if (ns > 0) rows.push_back(row.str());
    }
    return rows;
  }

  // "instance process nc: busy_ms of wall_ms, category ms, ..." of the rows of the table cores.
  std::vector<std::string> CoresOf(const AnalysisAnswer& answer) {
    std::vector<std::string> rows;
    const size_t table = traces_.Table("cores");
    for (size_t i = 0; i < answer.rows(table).size(); ++i) {
      std::ostringstream row;
      for (const char* column : {"instance", "process"}) {
        const AnalysisValue text = traces_.At(answer, table, i, column);
        row << (text.index() == 0 ? "-" : std::get<std::string>(text)) << ' ';
      }
      row << traces_.Number(answer, table, i, "nc") << ": " << Ms(traces_.Number(answer, table, i, "busy_ns")) << " of "
          << Ms(traces_.Number(answer, table, i, "wall_ns"));
      int64_t idle_ns = 0;
      for (const char* category :
           {"d2h_transfer", "h2d_transfer", "memory_mgmt", "exec_overhead", "sync_wait", "unattributed"}) {
        const int64_t ns = traces_.Number(answer, table, i, std::string(category) + "_ns");
        idle_ns += ns;
        if (ns > 0) row << ", " << category << ' ' << Ms(ns);
      }
      EXPECT_EQ(idle_ns, traces_.Number(answer, table, i, "idle_ns"));
      rows.push_back(row.str());
    }
    return rows;
  }

  NeuronTraces traces_;
};

using Rows = std::vector<std::string>;

// Each is busy half of the time: a union of the two would be busy all of it.
TEST_F(NeuronDefects, CoresThatTakeTurnsAreEachIdleHalfOfTheTime) {
  traces_.Add(MadeProfile().Core(0, 0, 50, 0, 0, 0).Core(1, 50, 100, 1, 1, 1).Text());
  const AnalysisAnswer both = traces_.Ask("device-idle");
  EXPECT_EQ(FactMs(both, "wall_ns"), 20);
  EXPECT_EQ(FactMs(both, "idle_ns"), 10);
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.Fact(both, "utilization_percent")), 50);
  EXPECT_THAT(both.notes(), Contains(HasSubstr("added up over 2 logical NeuronCores")));
  EXPECT_EQ(CoresOf(both), Rows({"- - 0: 5 of 10, unattributed 5", "- - 1: 5 of 10, unattributed 5"}));
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle", {{"nc", "1"}})), Rows({"- - 1: 5 of 10, unattributed 5"}));
}

TEST_F(NeuronDefects, AnEventOfOneCoreExplainsNothingOfAnother) {
  traces_.Add(MadeProfile()
                  .Event("nrt_tensor_write", 10, 0, 40, "", 0)
                  .Core(0, 40, 100, 0, 0, 0)
                  .Event("nrt_tensor_read", 11, 60, 100, "", 1)
                  .Core(1, 0, 50, 1, 1, 1)
                  .Text());
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle")),
            Rows({"- - 0: 6 of 10, h2d_transfer 4", "- - 1: 5 of 10, d2h_transfer 4, unattributed 1"}));
}

TEST_F(NeuronDefects, AnEventThatTellsNoCoreIsOfAllCoresOfItsProcess) {
  traces_.Add(MadeProfile()
                  .Event("nrt_tensor_read", 10, 0, 100, "", -1)
                  .Event("nrt_tensor_write", 11, 60, 70, "", 1)
                  .Core(0, 0, 40, 0, 0, 0)
                  .Core(1, 0, 50, 1, 1, 1)
                  .Text());
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle")),
            Rows({"- - 0: 4 of 10, d2h_transfer 6", "- - 1: 5 of 10, d2h_transfer 4, h2d_transfer 1"}));
}

TEST_F(NeuronDefects, CoresBeyondAllMeasureAreLeftOut) {
  MadeProfile profile;
  for (int nc = 0; nc < 4100; ++nc) profile.Core(nc, 0, 50, 0, 0, nc);
  traces_.Add(profile.Text());
  EXPECT_THAT(traces_.Ask("device-idle").notes(), Contains(HasSubstr("4 NeuronCores more are left out")));
}

// Two hosts and two processes with one pid each, cores and tracking ids that are the same, and ends in another order.
TEST_F(NeuronDefects, ProcessesOfTwoHostsWithOnePidAreTwo) {
  const auto half = [](const std::string& type, const char* phase, const char* instance, int pid, int64_t at) {
    return R"({"event_type":")" + type + R"(","phase":")" + phase + R"(","nc_idx":0,"tracking_id":7,"worker_gid":-1,)" +
           R"("process_id":)" + std::to_string(pid) + R"(,"instance_id":")" + instance +
           R"(","data":{"exec_id":4,"device_core_idx":0},"timestamp_ns":)" +
           std::to_string(1'780'000'000'000'000'000 + at * kMs / 10) + "}";
  };
  const std::string run = "nc_exec_running";
  traces_.Add("{\"events\":[" + half(run, "start", "i-a", 40, 0) + "," + half(run, "start", "i-b", 40, 10) + "," +
              half(run, "start", "i-b", 41, 20) + "," + half(run, "stop", "i-b", 41, 30) + "," +
              half(run, "stop", "i-b", 40, 60) + "," + half("nrt_tensor_read", "start", "i-b", 40, 60) + "," +
              half("nrt_tensor_read", "stop", "i-b", 40, 110) + "," + half(run, "stop", "i-a", 40, 100) + "]}");
  EXPECT_THAT(traces_.warnings, testing::IsEmpty());
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle")),
            Rows({"i-a 40 0: 10 of 10", "i-b 40 0: 5 of 10, d2h_transfer 5", "i-b 41 0: 1 of 1"}));
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle", {{"nc", "0"}, {"process", "40"}})),
            Rows({"i-a 40 0: 10 of 10", "i-b 40 0: 5 of 10, d2h_transfer 5"}));
  const AnalysisAnswer one = traces_.Ask("device-idle", {{"process", "40"}, {"instance", "i-b"}});
  EXPECT_EQ(CoresOf(one), Rows({"i-b 40 0: 5 of 10, d2h_transfer 5"}));
  EXPECT_EQ(FactMs(one, "idle_ns"), 5);
  EXPECT_EQ(CategoriesOf(one), Rows({"d2h_transfer 5"}));
  EXPECT_THAT(traces_.Ask("device-idle", {{"nc", "3"}}).notes(),
              Contains(HasSubstr("no execution of such a NeuronCore")));
  // Three executions, not one with three rows.
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "nc_ns"), 16 * kMs);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "lnc"), 1);
}

// A trace that stands in two files: what tells its host and process is the same process in both.
TEST_F(NeuronDefects, AProcessOfAHostIsOneOverSeveralFiles) {
  const auto whole = [](const char* type, int64_t at, int64_t ns) {
    return std::string(R"({"trace_event":[{"name":")") + type +
           R"(","process_id":"40","instance_id":"i-a","nc_idx":0,)" + R"("exec_id":1,"timestamp":)" +
           std::to_string(1'780'000'000'000'000'000 + at * kMs) + R"(,"duration":)" + std::to_string(ns * kMs) + "}]}";
  };
  traces_.Add(whole("nc_exec_running", 0, 4));
  traces_.Add(whole("nrt_tensor_read", 4, 6));
  EXPECT_EQ(CoresOf(traces_.Ask("device-idle")), Rows({"i-a 40 0: 4 of 10, d2h_transfer 6"}));
}

TEST_F(NeuronDefects, OneCoreIsItself) {
  traces_.Add(MadeProfile().Core(0, 0, 50, 0, 0).Core(1, 70, 100, 0, 1).Text());
  EXPECT_THAT(traces_.Ask("device-idle").notes(), testing::Not(Contains(HasSubstr("added up"))));
}

TEST_F(NeuronDefects, TwoPhysicalCoresAreOneExecution) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "first")
                  .Call("/w/m.py", 2, "second")
                  .Core(0, 0, 50, 0, 0)
                  .Core(1, 1, 51, 1, 0)
                  .Core(2, 100, 150, 0, 1)
                  .Core(3, 101, 151, 1, 1)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"first 1 5.1 0 undecidable", "second 1 5.1 0 undecidable"}));
  EXPECT_EQ(traces_.Number(lines, 0, 0, "nc_core_ns"), 10 * kMs);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "lnc"), 2);
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_DOUBLE_EQ(FactMs(idle, "busy_ns"), 10.2);
  EXPECT_DOUBLE_EQ(FactMs(idle, "wall_ns"), 15.1);
}

TEST_F(NeuronDefects, EventsWithinEachOtherCountOnce) {
  traces_.Add(MadeProfile()
                  .Core(0, 0, 10, 0, 0)
                  .Event("nrt_tensor_read", 10, 10, 50)
                  .Event("tensor_block_while_exec", 11, 10, 20)
                  .Event("dmem_buf_copyout", 12, 20, 50)
                  .Event("nrt_execute", 13, 50, 60)
                  .Event("kbl_exec_pre", 14, 50, 60)
                  .Core(1, 60, 70, 0, 1)
                  .Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_DOUBLE_EQ(FactMs(idle, "idle_ns"), 5);
  EXPECT_EQ(CategoriesOf(idle), Rows({"d2h_transfer 3", "exec_overhead 1", "sync_wait 1"}));
}

TEST_F(NeuronDefects, TheOrderOfEndsIsOfNoAccount) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "long")
                  .Call("/w/m.py", 2, "short")
                  .Core(0, 0, 90, 0, 0, 0)
                  .Core(1, 10, 20, 2, 0, 1)
                  .Text());
  EXPECT_EQ(LinesOf(traces_.Ask("lines")), Rows({"long 1 9 0 undecidable", "short 1 1 0 undecidable"}));
}

TEST_F(NeuronDefects, ALostBeginShiftsNothing) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "lost")
                  .Call("/w/m.py", 2, "kept")
                  .Core(0, -1, 50, 0, 0)
                  .Core(1, 60, 70, 0, 1)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"kept 1 1 0 undecidable", "lost 0 0 0 undecidable"}));
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "unknown_executions"), 1);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "ends_alone"), 1);
  EXPECT_THAT(traces_.warnings, Contains(HasSubstr("1 events end and never begin")));
}

TEST_F(NeuronDefects, WhatRunsBesideIsBusyOnce) {
  traces_.Add(MadeProfile()
                  .Core(0, 0, 200, 0, 0)
                  .Core(1, 10, 20, 1, 1)
                  .Core(2, 210, 220, 0, 2)
                  .Event("nrt_tensor_read", 10, 30, 190)
                  .Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_DOUBLE_EQ(FactMs(idle, "idle_ns"), 1);
  EXPECT_EQ(CategoriesOf(idle), Rows({"unattributed 1"}));
}

TEST_F(NeuronDefects, OneTrackingIdOnTwoCoresIsTwoEvents) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "four")
                  .Call("/w/m.py", 2, "five")
                  .Core(7, 0, -1, 0, 0, 0)
                  .Core(7, 20, -1, 2, 0, 1)
                  .Core(7, -1, 40, 0, 0, 0)
                  .Core(7, -1, 70, 2, 0, 1)
                  .Text());
  EXPECT_EQ(LinesOf(traces_.Ask("lines")), Rows({"five 1 5 0 undecidable", "four 1 4 0 undecidable"}));
}

TEST_F(NeuronDefects, ExplicitlyAsynchronousRequestsHaveNoRatio) {
  traces_.Add(
      MadeProfile().Call("/w/m.py", 1, "attn").Event("nrta_execute_schedule", 5, 0, 1).Core(0, 10, 60, 0, 0).Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"attn 1 5 0.1 async"}));
  EXPECT_EQ(traces_.At(lines, 0, 0, "nc_nrt_ratio").index(), 0u);
  EXPECT_EQ(traces_.Fact(lines, "nc_nrt_ratio").index(), 0u);
}

TEST_F(NeuronDefects, TheDeviceIsNeverBusyBeyondTheWall) {
  traces_.Add(MadeProfile().Core(0, 0, 100, 0, 0, 0).Core(1, 50, 150, 2, 0, 1).Wall(0, 150).Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_NEAR(std::get<double>(traces_.Fact(idle, "utilization_percent")), 66.67, 0.01);
  EXPECT_EQ(CoresOf(idle), Rows({"- - 0: 10 of 15, unattributed 5", "- - 1: 10 of 15, unattributed 5"}));
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "nc_ns"), 20 * kMs);
}

TEST_F(NeuronDefects, WithoutAWallTheTraceTells) {
  traces_.Add(MadeProfile().Core(0, 0, 100, 0, 0).Event("nrt_tensor_read", 1, 110, 150).Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_DOUBLE_EQ(FactMs(idle, "wall_ns"), 15);
  EXPECT_DOUBLE_EQ(FactMs(idle, "busy_ns"), 10);
  EXPECT_EQ(CategoriesOf(idle), Rows({"d2h_transfer 4", "unattributed 1"}));
}

TEST_F(NeuronDefects, AWallOfAnotherClockIsNotTaken) {
  traces_.Add(MadeProfile().Core(0, 0, 100, 0, 0).Core(1, 110, 150, 0, 1).Wall(9'000'000, 9'000'310).Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_DOUBLE_EQ(FactMs(idle, "wall_ns"), 15);
  EXPECT_THAT(idle.notes(), Contains(HasSubstr("another clock")));
}

TEST_F(NeuronDefects, TwoKernelsOfOneLineAreApart) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "big")
                  .Call("/w/m.py", 1, "small")
                  .Core(0, 0, 90, 0, 0)
                  .Core(1, 100, 110, 0, 1)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"big 1 9 0 undecidable", "small 1 1 0 undecidable"}));
  EXPECT_EQ(LinesOf(lines, traces_.Table("kernels")), Rows({"big 1 9 0 undecidable", "small 1 1 0 undecidable"}));
}

TEST_F(NeuronDefects, RatiosOfSeveralRanksAreMadeOfTheirSums) {
  // Line 1: 9 of 10 ms on rank 0, 1 of 10 ms on rank 1; host time 1 and 2 ms, on line 2 as well 1 and 1 ms.
  const auto rank = [](int64_t first, int64_t second, int64_t host) {
    return MadeProfile()
        .Call("/w/m.py", 1, "one")
        .Call("/w/m.py", 2, "two")
        .Event("nrt_execute", 50, 0, host)
        .Core(0, 30, 30 + first, 0, 0)
        .Event("nrt_execute", 51, 200, 210)
        .Core(1, 230, 230 + second, 0, 1)
        .Text();
  };
  traces_.Add(rank(90, 10, 10), 0);
  traces_.Add(rank(10, 90, 20), 1);
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"one 2 10 3 async", "two 2 10 2 async"}));
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, 0, 0, "nc_percent")), 50);
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, 0, 1, "nc_percent")), 50);
  EXPECT_NEAR(std::get<double>(traces_.At(lines, 0, 0, "nc_nrt_ratio")), 3.33, 0.01);
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, 0, 1, "nc_nrt_ratio")), 5);
  const size_t ranks = traces_.Table("rank_lines");
  EXPECT_EQ(LinesOf(lines, ranks), Rows({"one 1 9 1 async", "two 1 1 1 async", "two 1 9 1 async", "one 1 1 2 async"}));
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, ranks, 0, "nc_percent")), 90);
}

TEST_F(NeuronDefects, FilesOfOneNameAreTwo) {
  traces_.Add(MadeProfile()
                  .Call("/pkgA/model.py", 7, "k")
                  .Call("/pkgB/model.py", 7, "k")
                  .Core(0, 0, 20, 0, 0)
                  .Core(1, 30, 70, 0, 1)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  ASSERT_EQ(lines.rows(0).size(), 2u);
  EXPECT_EQ(std::get<std::string>(traces_.At(lines, 0, 0, "file")), "/pkgB/model.py");
  EXPECT_EQ(traces_.Number(lines, 0, 0, "nc_ns"), 4 * kMs);
  EXPECT_EQ(std::get<std::string>(traces_.At(lines, 0, 1, "file")), "/pkgA/model.py");
  EXPECT_EQ(traces_.Number(lines, 0, 1, "nc_ns"), 2 * kMs);
}

TEST_F(NeuronDefects, IdleBeforeTheFirstAndAfterTheLastCountsByItself) {
  traces_.Add(MadeProfile()
                  .Event("nrt_tensor_write", 10, 0, 30)
                  .Core(0, 40, 90, 0, 0)
                  .Event("nrt_tensor_read", 11, 100, 120)
                  .Wall(0, 150)
                  .Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  EXPECT_EQ(CategoriesOf(idle), Rows({"d2h_transfer 2", "h2d_transfer 3", "unattributed 5"}));
  const size_t gaps = traces_.Table("gaps");
  ASSERT_EQ(idle.rows(gaps).size(), 2u);
  EXPECT_EQ(std::get<std::string>(traces_.At(idle, gaps, 0, "place")), "after");
  EXPECT_EQ(traces_.Number(idle, gaps, 0, "duration_ns"), 6 * kMs);
  EXPECT_EQ(traces_.Number(idle, gaps, 0, "d2h_transfer_ns"), 2 * kMs);
  EXPECT_EQ(std::get<std::string>(traces_.At(idle, gaps, 1, "place")), "before");
  EXPECT_EQ(std::get<std::string>(traces_.At(idle, gaps, 1, "category")), "h2d_transfer");
}

// Hardware events may be of no worker, those of the runtime of one.
TEST_F(NeuronDefects, EventsOfNoWorkerAreOfTheOnlyOne) {
  const auto half = [](const std::string& type, const std::string& phase, int tracking, int64_t at,
                       const std::string& worker, const std::string& data) {
    return R"({"event_type":")" + type + R"(","phase":")" + phase + R"(","nc_idx":0,"tracking_id":)" +
           std::to_string(tracking) + R"(,"thread_id":5,"worker_gid":)" + worker + R"(,"data":{)" + data +
           R"(},"timestamp_ns":)" + std::to_string(1'780'000'000'000'000'000 + at) + "}";
  };
  traces_.Add("{\"events\":[" + half("nrt_execute", "start", 1, 0, "3", "") + "," +
              half("nc_exec_running", "start", 2, 100, "-1", R"("exec_id":4)") + "," +
              half("nc_exec_running", "stop", 2, 900, "-1", "") + "," + half("nrt_execute", "stop", 1, 1000, "3", "") +
              "]}");
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(std::get<std::string>(traces_.Fact(lines, "reading")), "sync");
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.Fact(lines, "nc_nrt_ratio")), 0.8);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "executions_alone"), 0);
}

// As a real run on trn2 has it: 156 executions of 2.9 s, on two cores each, within 156 host calls.
TEST_F(NeuronDefects, RealTotalsOfTwoCoresHaveARatioNearOne) {
  MadeProfile profile;
  for (int i = 0; i < 156; ++i) {
    const int64_t at = i * 30'000;
    profile.Call("/w/serve.py", 40, "model")
        .Event("nrt_execute", 10'000 + i, at, at + 29'073)
        .Core(2 * i, at + 20, at + 20 + 29'020, 0, i)
        .Core(2 * i + 1, at + 21, at + 21 + 29'021, 1, i);
  }
  traces_.Add(profile.Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines).size(), 1u);
  EXPECT_EQ(traces_.Number(lines, 0, 0, "executions"), 156);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "rows"), 312);
  EXPECT_NEAR(std::get<double>(traces_.Fact(lines, "nc_nrt_ratio")), 1, 0.01);
  EXPECT_EQ(std::get<std::string>(traces_.Fact(lines, "reading")), "sync");
  EXPECT_NEAR(static_cast<double>(traces_.Number(lines, 0, 0, "nc_core_ns")) / 1e9, 905.477, 0.1);
}

TEST_F(NeuronDefects, ARowThatIsMissingIsSaid) {
  traces_.Add(MadeProfile()
                  .Core(0, 0, 50, 0, 0)
                  .Core(1, 0, 50, 1, 0)
                  .Core(2, 60, 90, 0, 1)
                  .Core(3, 60, 90, 1, 1)
                  .Core(4, 100, 110, 0, 2)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "lnc"), 2);
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "odd_lnc"), 1);
  EXPECT_THAT(lines.notes(), Contains(HasSubstr("1 executions have another number of physical cores")));
}

TEST_F(NeuronDefects, CallsThatDisagreeAreUndecidable) {
  traces_.Add(MadeProfile()
                  .Call("/w/m.py", 1, "k")
                  .Call("/w/m.py", 1, "k")
                  .Event("nrt_execute", 50, 0, 60)
                  .Core(0, 10, 50, 0, 0)
                  .Event("nrta_execute_schedule", 51, 100, 101)
                  .Core(1, 110, 150, 0, 1)
                  .Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines), Rows({"k 2 8 6.1 undecidable"}));
  EXPECT_EQ(std::get<std::string>(traces_.At(lines, 0, 0, "reason")), "calls disagree: 1 sync, 1 async");
}

TEST_F(NeuronDefects, CallsThatFitNothingAreLeftAlone) {
  MadeProfile profile;
  for (int i = 0; i < 3; ++i) profile.Call("/w/m.py", i, "k" + std::to_string(i));
  traces_.Add(profile.Core(0, 0, 50, 0, 0).Core(1, 60, 70, 0, 1).Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(LinesOf(lines),
            Rows({"k0 0 0 0 undecidable", "k1 0 0 0 undecidable", "k2 0 0 0 undecidable", "- 2 6 0 undecidable"}));
  EXPECT_EQ(traces_.Number(lines, traces_.Table("totals"), 0, "calls_alone"), 3);
  EXPECT_THAT(lines.notes(), Contains(HasSubstr("3 calls tell neither a time nor an id")));
}

TEST_F(NeuronDefects, HostTimeThatAProfilerInflatesIsCorrected) {
  const auto run = [](int64_t host) {
    MadeProfile profile;
    for (int i = 0; i < 4; ++i) {
      const int64_t at = i * 200;
      profile.Call("/w/m.py", 1, "k").Event("nrt_execute", 50 + i, at, at + host).Core(i, at + 10, at + 40, 0, i);
    }
    return profile.Text();
  };
  traces_.Add(run(150), {}, "with");
  traces_.Add(run(50), {}, "alone");
  const AnalysisAnswer lines = traces_.Ask("lines", {{"without", "alone"}});
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.Fact(lines, "nrt_inflation")), 3);
  EXPECT_DOUBLE_EQ(FactMs(lines, "corrected_nrt_ns"), 20);
  EXPECT_EQ(LinesOf(lines), Rows({"k 4 12 60 sync"}));
  const size_t inflation = traces_.Table("inflation");
  ASSERT_EQ(lines.rows(inflation).size(), 1u);
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, inflation, 0, "factor")), 3);
  EXPECT_EQ(traces_.Number(lines, inflation, 0, "corrected_nrt_ns"), 20 * kMs);
  EXPECT_DOUBLE_EQ(std::get<double>(traces_.At(lines, inflation, 0, "corrected_ratio")), 0.6);
  ASSERT_EQ(lines.trust().size(), 1u);
  EXPECT_EQ(lines.trust()[0].code, "host_time_inflated");
  const AnalysisAnswer findings = traces_.Ask("findings", {{"without", "alone"}});
  ASSERT_EQ(findings.trust().size(), 1u);
  EXPECT_EQ(findings.trust()[0].code, "host_time_inflated");
  EXPECT_FALSE(findings.rows(0).empty());
  for (const AnalysisAnswer::Row& row : findings.rows(0)) EXPECT_EQ(std::get<std::string>(row[0]), "with");
  EXPECT_TRUE(traces_.Ask("findings").trust().empty());
}

// Codes of findings, in their order.
std::vector<std::string> CodesOf(NeuronTraces& traces, const AnalysisAnswer& findings) {
  std::vector<std::string> codes;
  for (size_t i = 0; i < findings.rows(0).size(); ++i) {
    codes.push_back(std::get<std::string>(traces.At(findings, 0, i, "code")));
  }
  return codes;
}

// A program that waits for a core before it begins with the next one.
TEST_F(NeuronDefects, TimeOfAnotherCoreIsNotTheProgramsOwn) {
  MadeProfile profile;
  for (int i = 0; i < 10; ++i) {
    profile.Event("nrt_execute", 100 + i, i * 100, i * 100 + 95, "", i % 2)
        .Core(i, i * 100 + 5, i * 100 + 90, i % 2, i, i % 2);
  }
  traces_.Add(profile.Text());
  const AnalysisAnswer idle = traces_.Ask("device-idle");
  const size_t cores = traces_.Table("cores");
  EXPECT_EQ(traces_.Number(idle, cores, 0, "unattributed_ns"), 520 * kMs / 10);
  EXPECT_EQ(traces_.Number(idle, cores, 0, "other_core_ns"), 5 * 95 * kMs / 10);
  EXPECT_EQ(traces_.Number(idle, cores, 1, "other_core_ns"), 5 * 95 * kMs / 10);
  EXPECT_EQ(traces_.Number(idle, traces_.Table("ranks"), 0, "other_core_ns"), 10 * 95 * kMs / 10);
  const AnalysisAnswer findings = traces_.Ask("findings");
  const std::vector<std::string> codes = CodesOf(traces_, findings);
  EXPECT_THAT(codes, Contains("neuron_cores_in_turns"));
  EXPECT_THAT(codes, testing::Not(Contains("neuron_host_bound")));
}

TEST_F(NeuronDefects, LinesThatDifferAreMixed) {
  MadeProfile profile;
  profile.Call("/w/m.py", 1, "attn_fwd").Call("/w/m.py", 2, "up_proj").Call("/w/m.py", 1, "attn_fwd");
  for (const int i : {0, 2})
    profile.Event("nrt_execute", 50 + i, i * 100, i * 100 + 60).Core(i, i * 100 + 10, i * 100 + 50, 0, i);
  profile.Event("nrta_execute_schedule", 51, 100, 101).Core(1, 110, 150, 0, 1);
  traces_.Add(profile.Text());
  const AnalysisAnswer lines = traces_.Ask("lines");
  EXPECT_EQ(std::get<std::string>(traces_.Fact(lines, "reading")), "undecidable");
  EXPECT_EQ(std::get<std::string>(traces_.Fact(lines, "reason")),
            "mixed: attn_fwd sync; up_proj async (2 calls sync, 1 async)");
  const AnalysisAnswer summary = traces_.Ask("summary");
  EXPECT_THAT(std::get<std::string>(traces_.At(summary, traces_.Table("neuron_runtime"), 0, "says")),
              HasSubstr("host's calls, mixed: attn_fwd sync; up_proj async"));
  const AnalysisAnswer findings = traces_.Ask("findings");
  EXPECT_THAT(CodesOf(traces_, findings), Contains("neuron_sync_execution"));
}

TEST_F(NeuronDefects, AnOuterCallSaysWhichInnerOneHasItsTime) {
  const auto call = [](const char* file, int line, int64_t start, int64_t end) {
    return std::string(R"({"filename":")") + file + R"(","lineno":)" + std::to_string(line) +
           R"(,"kernel_name":"k","thread_id":1,"start_ns":)" + std::to_string(1'780'000'000'000'000'000 + start) +
           R"(,"end_ns":)" + std::to_string(1'780'000'000'000'000'000 + end) + "}";
  };
  std::string text = MadeProfile().Event("nrt_execute", 1, 1, 10).Core(0, 2, 9, 0, 0).Text();
  text.replace(text.find("[]"), 2,
               "[" + call("/w/a.py", 1, 0, 3 * kMs) + "," + call("/w/lib.py", 5, 10, 2 * kMs) + "]");
  traces_.Add(text);
  const AnalysisAnswer lines = traces_.Ask("lines");
  ASSERT_EQ(lines.rows(0).size(), 2u);
  EXPECT_EQ(std::get<std::string>(traces_.At(lines, 0, 0, "file")), "/w/lib.py");
  EXPECT_EQ(std::get<std::string>(traces_.At(lines, 0, 1, "reason")), "its inner calls have it: /w/lib.py:5");
}

TEST_F(NeuronDefects, ARecordingWithoutCallsSaysHowToRecordThem) {
  traces_.Add(R"({"kernel_calls":[],"events_json":"","wall_start_ns":0,"wall_stop_ns":0})");
  EXPECT_THAT(
      traces_.Ask("lines").notes(),
      testing::ElementsAre(testing::AllOf(HasSubstr("no kernel call was recorded"), HasSubstr("--wrap MODULE:PATH"))));
}

TEST_F(NeuronDefects, AFileThatIsCutIsNotARingThatIsSmall) {
  const std::string whole = MadeProfile().Core(0, 0, 50, 0, 0).Core(1, 60, 100, 0, 1).Text();
  traces_.Add(whole.substr(0, whole.size() - 200));
  const AnalysisAnswer findings = traces_.Ask("findings");
  const std::vector<std::string> codes = CodesOf(traces_, findings);
  EXPECT_THAT(codes, Contains("neuron_trace_cut"));
  EXPECT_THAT(codes, testing::Not(Contains("neuron_events_lost")));
  const AnalysisAnswer lines = traces_.Ask("lines");
  ASSERT_EQ(lines.trust().size(), 1u);
  EXPECT_EQ(lines.trust()[0].code, "trace_cut");
}

}  // namespace
}  // namespace kprof
