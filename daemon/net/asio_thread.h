// An asio context with a thread of its own, for work that must not stand in the io loop's way. Tasks run on that
// thread, in the order of Post. The destructor waits until the context waits for nothing; the owner ends first whatever
// waits on it.
#pragma once

#include <pthread.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <thread>
#include <utility>

namespace kprof {

class AsioThread {
 public:
  // `name` has at most 15 bytes; signals, SIGPIPE too, go to other threads.
  explicit AsioThread(const char* name)
      : guard_(boost::asio::make_work_guard(context_)), thread_([this, name] {
          sigset_t all;
          sigfillset(&all);
          pthread_sigmask(SIG_BLOCK, &all, nullptr);
          pthread_setname_np(pthread_self(), name);
          context_.run();
        }) {}
  ~AsioThread() {
    guard_.reset();
    thread_.join();
  }
  AsioThread(const AsioThread&) = delete;
  AsioThread& operator=(const AsioThread&) = delete;

  template <typename Task>
  void Post(Task task) {
    boost::asio::post(context_, std::move(task));
  }
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace kprof
