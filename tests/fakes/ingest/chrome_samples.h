// Small Chrome traces, each with something that a reader could stumble over. For tests of readers and for fuzzers.
#pragma once

#include <string>
#include <vector>

namespace kprof {

struct ChromeSample {
  std::string name;
  std::string text;
};

inline std::string ManyEvents(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::string(i == 0 ? "" : ",\n") + R"({"ph":"X","cat":"cpu_op","name":"op)" + std::to_string(i % 7) +
            R"(","pid":1,"tid":)" + std::to_string(i % 3) + R"(,"ts":)" + std::to_string(i * 10) + "." +
            std::to_string(i % 1000) + R"(,"dur":)" + std::to_string(i % 5) + R"(,"args":{"External id":)" +
            std::to_string(i) + (i % 4 == 0 ? R"(,"shape":[1, 2])" : "") + "}}";
  }
  return text;
}

inline std::vector<ChromeSample> ChromeSamples() {
  return {
      {"kineto", R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}],
  "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8}, "baseTimeNanoseconds": 1700000000000000000,
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 5.000, "args": {"name": "python"}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77, "ts": 1000.123, "dur": 12.5,
   "args": {"External id": 1, "Input Dims": [[2, 3], [3, 4]], "Concrete Inputs": ["", ""], "Fwd thread id": 0}},
  {"ph": "X", "cat": "kernel", "name": "void gemm<float, 4>(int)", "pid": 0, "tid": 7, "ts": 1010.25, "dur": 5,
   "args": {"device": 0, "stream": 7, "correlation": 9, "grid": [1, 1, 1], "est. achieved occupancy %": 62.5}},
  {"ph": "s", "id": 9, "pid": 77, "tid": 77, "ts": 1001, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 9, "pid": 0, "tid": 7, "ts": 1010.25, "cat": "ac2g", "name": "ac2g", "bp": "e"}
  ], "traceName": "/tmp/x.json", "displayTimeUnit": "ms"})json"},
      // As Kineto writes traces of MTIA accelerators: a device is a process, numbers are often texts.
      {"mtia", R"json({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 4021, "tid": 0, "ts": 5.000, "args": {"name": "python"}},
  {"ph": "M", "name": "process_labels", "pid": 3, "tid": 0, "ts": 5.000, "args": {"labels": "MTIA 3"}},
  {"ph": "M", "name": "process_sort_index", "pid": 3, "tid": 0, "ts": 5.000, "args": {"sort_index": 5000003}},
  {"ph": "M", "name": "thread_name", "pid": 3, "tid": 12, "ts": 5.000, "args": {"name": "stream 12 "}},
  {"ph": "X", "cat": "mtia_runtime", "name": "runtime: launch", "pid": 4021, "tid": 4021, "ts": 1000.5, "dur": 8,
   "args": {"correlation": 41, "device": 3, "stream_id": "12", "cmd_name": "launch", "mem size": "4096"}},
  {"ph": "X", "cat": "mtia_runtime", "name": "runtime: wait", "pid": 4021, "tid": 4021, "ts": 1010, "dur": 2.25,
   "args": {"correlation": "42", "device": 3, "stream_id": 12, "executable_name": ""}},
  {"ph": "X", "cat": "mtia_ccp_events", "name": "fc_kernel", "pid": 3, "tid": 12, "ts": 1004.125, "dur": 90.5,
   "args": {"stream": 12, "packet_ptr": 140231, "sqid": 2, "direction": "H2D", "size": 4096, "k_work_ptr": 9,
            "correlation": 41, "column": "0", "row": "7", "seq_num": 1, "host_ctx": 1, "wait_on_stream": -1}},
  {"ph": "X", "cat": "mtia_ccp_events", "name": "dma", "pid": 3, "tid": 13, "ts": 1005, "dur": 1,
   "args": {"stream": "13", "correlation": 41}},
  {"ph": "X", "cat": "mtia_insight", "name": "insight", "pid": 4021, "tid": 77, "ts": 1006, "dur": 3, "args": {}},
  {"ph": "X", "cat": "mtia_workerd_events", "name": "poll", "pid": 4021, "tid": 78, "ts": 1007, "dur": 0},
  {"ph": "s", "id": 41, "pid": 4021, "tid": 4021, "ts": 1000.5, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 41, "pid": 3, "tid": 12, "ts": 1004.125, "cat": "ac2g", "name": "ac2g", "bp": "e"}
  ]})json"},
      {"every phase", R"({"traceEvents":[{"ph":"B","name":"b","ts":1,"pid":1,"tid":2,"args":{"in":1}},
{"ph":"E","ts":4,"pid":1,"tid":2,"args":{"out":"x"}},{"ph":"b","cat":"c","id":"0x1","name":"n","ts":2,"pid":1,"tid":2},
{"ph":"n","cat":"c","id":"0x1","name":"m","ts":3,"pid":1},{"ph":"e","cat":"c","id":"0x1","name":"n","ts":5,"pid":1},
{"ph":"i","name":"i","ts":6,"s":"t"},{"ph":"I","name":"I","ts":7},{"ph":"C","name":"mem","ts":8,"pid":1,"args":{"a":1,"b":-2.5,"c":"no"}},
{"ph":"s","id":1,"ts":9,"name":"f"},{"ph":"t","id":1,"ts":10,"name":"f"},{"ph":"f","id":1,"ts":11,"name":"f"},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},{"ph":"P","name":"sample","ts":12},
{"ph":"N","ts":13,"id":1},{"ph":"long phase","ts":14},{"ph":"","ts":15},{"ph":7,"ts":16}]})"},
      {"list", R"([{"ph":"i","ts":1,"name":"a"},{"ph":"i","ts":2,"name":"b"}])"},
      {"list that is not closed", R"([{"ph":"i","ts":1,"name":"a"},{"ph":"i","ts":2,"name":"b"},)"},
      {"byte order mark", "\xef\xbb\xbf [{\"ph\":\"i\",\"ts\":1}]"},
      {"empty list", "[]"},
      {"empty events", R"({"a":1,"traceEvents":[ ],"b":2})"},
      {"space of all sorts",
       " \n\t\r{ \"traceEvents\" :\n[\n\n{ \"ph\" : \"i\" ,\t\"ts\"\r\n:\n1 }\t,\n\n  {\"ph\":\"i\", "
       "\"ts\" : 2 , \"args\" : { \"k\" : [ 1 , { } ] } }\n]\n,\n\"x\" : 1\n}\n\n"},
      {"strings that look like events",
       R"([{"ph":"i","ts":1,"name":"\"},{\"ph\":\"X\",\"ts\":9}"},{"ph":"i","ts":2,"name":"},{'ph':[,{"},
{"ph":"i","ts":3,"name":"]}"},{"ph":"i","ts":4,"name":"\\"},{"ph":"i","ts":5,"cat":"a\\\"b,{\"ph\":\"X\"}"},
{"ph":"i","ts":6,"args":{",{\"ph\":\"X\"}":"\",{\"ph\":\"X\",\"ts\":1},"}}])"},
      {"lists of what looks like events",
       R"([{"ph":"X","ts":1,"dur":1,"args":{"stack":[{"ph":"X","ts":100},{"ph":"X","ts":101},[{"ph":"i","ts":102}]]}},
{"ph":"X","ts":2,"args":{"o":{"a":[{"ph":"X","ts":100,"args":{"x":[{"ph":"X"},{"ph":"X"}]}},{"ph":"X"}]}},"nested":[{"ph":"X"}]},
{"ph":"i","ts":3}])"},
      {"behind the list",
       R"({"traceEvents":[{"ph":"i","ts":1}],"other":[{"ph":"X","ts":9},{"ph":"X","ts":8}],"a":{"ph":"X"}})"},
      {"numbers in every way",
       R"([{"ph":"X","ts":1,"dur":2},{"ph":"X","ts":1.0005,"dur":0.0004},{"ph":"X","ts":"3","dur":"1.5"},
{"ph":"X","ts":1e3,"dur":25E-1},{"ph":"X","ts":1700000000123456.789,"dur":0},{"ph":"X","ts":-5,"dur":-1},
{"ph":"X","ts":"","dur":1},{"ph":"X","dur":1},{"ph":"X","ts":null},{"ph":"X","ts":NaN,"dur":Infinity},
{"ph":"X","ts":9e99},{"ph":"X","ts":5,"dur":NaN},{"ph":"X","ts":6,"args":{"a":NaN,"b":-Infinity,"c":1e400,"d":-0,"e":0.10,"f":12345678901234567890}}])"},
      {"2021", R"({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":10,"dur":1,"args":{"device":0,"stream":7,"correlation":"12"}},
{"ph":"X","cat":"Kernel","name":"k","pid":"0","tid":7,"ts":12,"dur":1,"args":{"correlation":13}},
{"ph":"M","name":"thread_name","pid":0,"tid":"stream 7","args":{"name":"stream 7"}}]})"},
      {"names",
       std::string(
           "[{\"ph\":\"i\",\"ts\":1,\"name\":\"line\nfeed\ttab\x01\x1f\x7f\"},{\"ph\":\"i\",\"ts\":2,\"name\":\"") +
           R"(\u00e9\ud83d\ude00\ud83d\n\u0000\q"},{"ph":"i","ts":3,"name":""},{"ph":"i","ts":4,"name":")" +
           "\xff\xfe\xc3\"}]"},
      {"arguments of every kind",
       R"([{"ph":"i","ts":1,"args":null},{"ph":"i","ts":2,"args":[1, 2]},{"ph":"i","ts":3,"args":"x"},{"ph":"i","ts":4,"args":{}},
{"ph":"i","ts":5,"args":{"args":{"a":1},"name":"n","ts":9,"":0,"a":true,"b":false,"c":null,"d":{},"e":[]}},
{"ph":"i","ts":6,"args":{"a":1},"args":{"b":2}},{"ph":"i","name":"x","ts":7,"name":"y","args":{"k":1,"k":2}},
{"ph":"i","ts":8,"sf":1,"stack":["a"],"id":1,"scope":"s","args":{"a":1},"tts":3}])"},
      {"deep", "[{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":" + std::string(100, '[') + std::string(100, ']') +
                   "}},{\"ph\":\"i\",\"ts\":2}]"},
      {"deeper", "[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":2,\"args\":{\"a\":" + std::string(200, '[') +
                     std::string(200, ']') + "}},{\"ph\":\"i\",\"ts\":3}]"},
      {"objects without a phase", R"([{"ts":1},{},{"a":{"ph":"X"}},{"ph":"i","ts":1},{"ts":2}])"},
      {"large events", "[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",\"ts\":2,\"name\":\"" + std::string(3000, 'x') +
                           "\"},{\"ph\":\"i\",\"ts\":3,\"args\":{\"a\":[" + std::string(2000, ' ') +
                           R"({"ph":"X","ts":100},{"ph":"X","ts":100})" + std::string(2000, '\n') +
                           "]}},{\"ph\":\"i\",\"ts\":4}]"},
      {"many commas", R"([,,{"ph":"i","ts":1},,,{"ph":"i","ts":2},])"},
      {"something else in the middle", R"([{"ph":"i","ts":1},{"ph":"i","ts":2},garbage,{"ph":"i","ts":3}])"},
      {"values that are no events",
       R"([1,"x",{"ph":"i","ts":1},null,[2, 3] ,{"ph":"i","ts":2},{"ph":"i","a":}, {"ph":"i","ts":3},7])"},
      {"a missing quote", "[" + ManyEvents(20) + R"(,{"ph":"i","name":"broken,"ts":5,"args":{"k":"v","l":[1,"x"]}},)" +
                              ManyEvents(20) + "]"},
      {"a missing brace",
       "{\"traceEvents\":[" + ManyEvents(5) + R"(,{"ph":"i","ts":5,"args":{"k":1},)" + ManyEvents(5) + "],\"a\":1}"},
      {"much that is none", "[" + ManyEvents(3) + "," + std::string(5000, '}') + "," + ManyEvents(3) + ",x y]"},
      {"lists that seem to end",
       R"({"traceEvents":[{"ph":"i","ts":1},{"l":[{"ph":"i","ts":2}] x},{"ph":"i","ts":3}],"a":1})"},
      {"space that comes and goes",
       R"([{"ph":"i","ts":1,"args":null},{"ph":"i","ts":2,"args": {"a":true}},{"ph":"i","ts":3,"args": {"a": false}},{"ph":"i","ts":4,"args":{"a":1}}])"},
      {"several lists", "[" + ManyEvents(3) + "]\n[]  [" + ManyEvents(3) + "]\n["},
      {"more behind", R"({"traceEvents":[{"ph":"i","ts":1}]} {"traceEvents":[{"ph":"i","ts":2}]})"},
      {"numbers that are none",
       R"([{"ph":"i","ts":1,"args":{"a":nan,"b":-inf}},{"ph":"C","ts":2,"args":{"a":+Infinity}},{"ph":"i","ts":3}])"},
      {"nothing between", R"([{"ph":"i","ts":1}{"ph":"i","ts":2}{"ph":"i","ts":3}])"},
      {"cut", R"({"traceEvents":[{"ph":"i","ts":1},{"ph":"i","ts":2},{"ph":"i","ts)"},
      {"cut behind", R"({"traceEvents":[{"ph":"i","ts":1}],"a":1,"b":[1)"},
      {"broken behind", R"({"traceEvents":[{"ph":"i","ts":1}],"a":1 "b":2})"},
      {"many", "{\"traceEvents\":[" + ManyEvents(300) + "]}"},
  };
}

}  // namespace kprof
