"""The asker's file: a task with cases, inputs, and outputs that are right. Loaded by the referee alone."""

import os

from kprof import event_check, event_values


class TaskFailed(Exception):
    """The task is at fault, not the candidate."""


class Task:
    """What a task file defines:

      make_inputs(case, seed)          the inputs of a call, a tuple; other ones for each seed
      reference(*inputs)               the outputs that are right; or, or also,
      check(case, inputs, outputs)     True, or a text that says how outputs are wrong
      cases                            {name: case}; without it there is one case, None, without a name
      tolerance                        relative; or {"rtol": r, "atol": a}; or a function of the case
      flops(case), bytes(case)         of a call: of the work, not measured

    The file is read and compiled here: a cached form of it, in __pycache__, could be somebody else's.
    """

    def __init__(self, path):
        self._path = path
        names = {"__name__": "kprof_task", "__file__": os.path.abspath(path)}
        try:
            with open(path, "rb") as file:
                exec(compile(file.read(), path, "exec"), names)
        except OSError as error:
            raise TaskFailed(f"read {path}: {error.strerror}") from None
        except Exception as error:
            raise TaskFailed(f"load {path}: {type(error).__name__}: {error}") from error
        self._names = names
        if "make_inputs" not in names:
            raise TaskFailed(f"{path} has no make_inputs(case, seed)")
        if "reference" not in names and "check" not in names:
            raise TaskFailed(f"{path} has neither reference(*inputs) nor check(case, inputs, outputs)")
        self.cases = names.get("cases") or {None: None}
        self.is_checked = True
        self.has_reference = "reference" in names

    def _ask(self, function, *arguments):
        try:
            return self._names[function](*arguments)
        except Exception as error:
            raise TaskFailed(f"{function} of {self._path}: {type(error).__name__}: {error}") from error

    def inputs(self, name, seed):
        inputs = self._ask("make_inputs", self.cases[name], seed)
        return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)

    def expected(self, inputs):
        return self._ask("reference", *inputs)

    def number(self, what, name):
        """flops or bytes of a call; None: the task does not say."""
        return float(self._ask(what, self.cases[name])) if what in self._names else None

    def complaint(self, name, inputs, outputs):
        """Empty, or how outputs are wrong."""
        if "check" in self._names:
            try:
                said = self._names["check"](self.cases[name], inputs, outputs)
            except Exception as error:  # outputs may be anything
                said = f"check() failed on them: {type(error).__name__}: {error}"
            if said is not True:
                return said if isinstance(said, str) and said else f"check() said {said!r}, not True"
        if not self.has_reference:
            return ""
        tolerance = self._names.get("tolerance")
        tolerance = self._ask("tolerance", self.cases[name]) if callable(tolerance) else tolerance
        try:
            tolerance = event_check.tolerance_of(tolerance)
        except (TypeError, ValueError) as error:
            raise TaskFailed(f"{self._path}: {error}") from None
        return event_check.difference(outputs, self.expected(inputs), tolerance)


class NoTask:
    """In place of a task: the candidate's own `cases`, whose values are the inputs. Nothing is checked."""

    is_checked = has_reference = False

    def __init__(self, encoded):
        """`encoded`: pairs of names and inputs, as the candidate's process has them."""
        listed = event_values.decode(encoded)[0]
        if type(listed) is not list or not all(type(pair) is tuple and len(pair) == 2 and type(pair[0]) is str for pair in listed):
            raise event_values.NoValue("cases that are no dict of names and inputs")
        self.cases = dict(listed) or {None: ()}

    def inputs(self, name, _):
        inputs = self.cases[name]
        return inputs if isinstance(inputs, tuple) else (inputs,)

    def number(self, *_):
        return None
