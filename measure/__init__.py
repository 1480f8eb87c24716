"""Measure how a machine runs a language model and write what was seen into site_data/.

The parts, each using those below it:

    cli        the command line: run, list, show, check
    session    one run from start to end: rounds of fresh processes, budget, resume
    worker     one fresh process: builds the model, takes the samples it is asked for
    phases     what is timed: prefill, decode, the size of the cache
    models     a model from its published sizes, with random or real weights
    meter      energy over a window, or the reason why there is none
    clock      wall-clock time over a window, and who else used the processor
    plan       which cells, how often, in which order (pure)
    record     run folders on disk: append, finish, resume
    machine    what this machine, its software and this code are

Nothing here knows how results are published; the two programs meet in site_data/ only.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("spliced-inference")
except PackageNotFoundError:  # run from a plain checkout, as on a borrowed machine
    __version__ = "0+checkout"
