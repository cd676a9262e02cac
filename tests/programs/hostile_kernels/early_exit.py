"""Answers the first call with a forged result, and leaves as if all were well."""

import os

from kprof import event_child


def leave(self, *_):
    self.link.send(b"D" + event_child.DONE.pack(4064, 1, 0))
    os._exit(0)


event_child.Server.call = leave


def kernel(*_):
    return None
