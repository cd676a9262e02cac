// The Launched of the real launchers: a link to a supervisor, which outlives it until the supervisor is gone.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/launcher.h"

namespace kprof {

// A Link has Lease, Go, Stop and Abandon: supervisor_link.h, distant_supervisor.h.
template <typename Link>
class SupervisorHandle final : public Launched {
 public:
  SupervisorHandle(IoLoop& loop, std::shared_ptr<Link> link) : loop_(loop), link_(std::move(link)) {}
  ~SupervisorHandle() override {
    KPROF_ON_IO_LOOP(loop_);
    link_->Abandon();
  }
  void Lease(const std::vector<std::string>& variables) override {
    KPROF_ON_IO_LOOP(loop_);
    link_->Lease(variables);
  }
  void Go() override {
    KPROF_ON_IO_LOOP(loop_);
    link_->Go();
  }
  void Stop(int64_t grace_ms) override {
    KPROF_ON_IO_LOOP(loop_);
    link_->Stop(grace_ms);
  }

 private:
  IoLoop& loop_;
  const std::shared_ptr<Link> link_;
};

}  // namespace kprof
