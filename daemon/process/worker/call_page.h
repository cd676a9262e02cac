// What a worker process does at this moment, for who watches it: the call that it is in, and since when. A page that
// both map, because a process that hangs in a driver can say nothing any more, and because a note that costs a system
// call would cost more than the call that it is about.
//
// One writer, any readers, in any processes. A reader may see the name of one call with the time of the next: it is for
// a message.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class CallPage {
 public:
  // A new one, of a size that nobody can change; its descriptor is for the worker.
  static Result<CallPage> Make();
  // The one that another has made.
  static Result<CallPage> Map(UniqueFd fd);
  ~CallPage();
  CallPage(CallPage&& other) noexcept;
  CallPage& operator=(CallPage&& other) noexcept;

  // Whether it is one that Make has made, for who maps what it got from somebody whom it does not trust.
  static bool IsSealed(int fd);

  int fd() const { return fd_.get(); }

  // From now on a call that takes longer than this ends the process (SIGALRM): where nobody else can. An alarm that is
  // set already is kept.
  void EndProcessAfter(unsigned seconds);

  void Begin(const char* call);
  void End();

  struct Call {
    std::string name;
    int64_t since_mono_ns = 0;
  };
  // The one that has begun and not ended.
  std::optional<Call> Now() const;

 private:
  struct Page {
    std::atomic<int64_t> since_mono_ns;  // 0: in none
    char name[56];
  };

  CallPage(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}

  UniqueFd fd_;
  Page* page_ = nullptr;
  unsigned limit_s_ = 0;        // 0: none
  unsigned other_alarm_s_ = 0;  // what was left, when the call began, of an alarm of others; 0: there was none
  int64_t begun_mono_ns_ = 0;
};

}  // namespace kprof
