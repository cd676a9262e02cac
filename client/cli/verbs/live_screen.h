// The whole terminal, for a view that is drawn again and again: nothing of it is left when it goes. Keys are read as
// they are typed. Draws line by line over what was there, so that nothing flickers.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/views/device_screen.h"

namespace kprof::cli {

class LiveScreen {
 public:
  // Whether results go to a terminal that can do so.
  static bool IsPossible(const Output& output);
  // Whether it shows letters beyond ASCII, as far as the locale says.
  static bool ShowsUnicode();

  // Keys are read from `key_fd`, where that is a terminal.
  LiveScreen(Output& output, int key_fd);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  size_t columns() const;
  size_t rows() const;
  // -1: there are no keys.
  int key_fd() const { return before_ ? key_fd_ : -1; }
  // What was typed since; q, Q or Ctrl-D among it.
  bool ReadsQuit() const;

  void Draw(const std::vector<ScreenLine>& lines);

 private:
  Output& output_;
  const int key_fd_;
  const bool has_colours_;
  std::optional<termios> before_;
};

}  // namespace kprof::cli
