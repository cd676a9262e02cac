"""kprof from Python: import traces, ask analyses and SQL, get tables.

    import kprof

    client = kprof.connect()
    [run] = client.import_("rank0.json.gz")
    answer = run.analyze("temporal-breakdown", window="hta")
    print(answer.table())                  # a pandas DataFrame where pandas is installed, else a list of dicts
    print(run.query("SELECT name, sum_ns FROM sum_by('name') ORDER BY sum_ns DESC LIMIT 5").table())

Needs Python 3.9, grpcio and protobuf, and a kprofd that runs. docs/python.md has the whole of it.
"""

import importlib

# Where each name is. They are looked up when they are used: kprof.neuron runs in programs whose Python has no grpcio.
_HOMES = {
    "kprof.analysis": ("Answer", "Kind"),
    "kprof.client": ("Client", "connect"),
    "kprof.errors": ("BadInput", "Busy", "Cancelled", "InternalError", "KprofError", "LostDaemon", "NoDaemon", "NotFound",
                     "NotPermitted", "StorageError", "TimedOut", "ToolError", "UsageError"),
    "kprof.run": ("Run", "TrustReason"),
    "kprof.table": ("Column", "QueryResult", "Table"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name):
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kprof' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
