// The Launched of the real launchers: what is said to a supervisor goes straight into its channel.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/supervisor_channel.h"

namespace kprof {

class SupervisorHandle final : public Launched {
 public:
  // `abandon`: nobody follows it any more; its launcher sees to its end.
  SupervisorHandle(IoLoop& loop, std::shared_ptr<SupervisorChannel> channel, std::function<void()> abandon)
      : loop_(loop), channel_(std::move(channel)), abandon_(std::move(abandon)) {}
  ~SupervisorHandle() override {
    KPROF_ON_IO_LOOP(loop_);
    abandon_();
  }
  void Lease(const std::vector<std::string>& variables) override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Lease(variables);
  }
  void Go() override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Go();
  }
  void Stop(int64_t grace_ms) override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Stop(grace_ms);
  }

 private:
  IoLoop& loop_;
  const std::shared_ptr<SupervisorChannel> channel_;
  const std::function<void()> abandon_;
};

}  // namespace kprof
