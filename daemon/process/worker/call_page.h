// The call that a worker process is in, and since when, for the process that watches it. Both map one page: a process
// that hangs in a driver can say nothing any more, and a note by a system call would cost more than the call that it is
// about.
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
  // A new page, of a size that nobody can change; its descriptor is for the worker.
  static Result<CallPage> Make();
  // Maps the page that another process has made.
  static Result<CallPage> Map(UniqueFd fd);
  ~CallPage();
  CallPage(CallPage&& other) noexcept;
  CallPage& operator=(CallPage&& other) noexcept;

  // True if Make() sealed `fd`. Check it before mapping a page from a stranger.
  static bool IsSealed(int fd);

  int fd() const { return fd_.get(); }

  // From now on a call that takes longer than this ends the process (SIGALRM): for where nobody else can end it. An
  // alarm that is set already is kept.
  void EndProcessAfter(unsigned seconds);

  void Begin(const char* call);
  void End();

  struct Call {
    std::string name;
    int64_t since_mono_ns = 0;
  };
  // The call that has begun and not ended.
  std::optional<Call> Now() const;

 private:
  struct Page {
    std::atomic<int64_t> since_mono_ns;  // 0: in no call
    char name[56];
  };

  CallPage(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}

  UniqueFd fd_;
  Page* page_ = nullptr;
  unsigned limit_s_ = 0;        // 0: none
  unsigned other_alarm_s_ = 0;  // what was left of an alarm of others when the call began; 0: there was none
  int64_t begun_mono_ns_ = 0;
};

}  // namespace kprof
