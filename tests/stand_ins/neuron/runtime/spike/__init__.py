"""What kprof needs to see of spike, the Neuron runtime's Python binding: a model that is called. The library is the stand-in."""

from spike.spike_model import SpikeModel

__all__ = ["SpikeModel"]
