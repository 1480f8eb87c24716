"""Opening and closing a meter's windows: a failing counter refuses, and timing goes on. Reads no counter itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from measure.meter import Energy
from measure.ticks import Clock, DriverError

W = TypeVar("W")
"""What a meter knows of its open window."""

_NONE_OPEN = Energy.refused("unavailable", "no window was open")


class Windows(ABC, Generic[W]):
    """`begin` and `end` of a meter whose counter may fail at any time; a meter says how its own windows are made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._window: W | None = None
        self._refusal = _NONE_OPEN

    def begin(self) -> None:
        """Open a window on the counter's next tick; takes up to about one tick."""
        self._drop_window()
        try:
            self._window = self._opened()
        except DriverError as error:
            self._refusal = Energy.refused("unavailable", str(error))
        except Exception as error:  # timing must go on whatever the meter meets
            self._refusal = Energy.refused("unavailable", f"the meter failed: {error!r}")

    def end(self) -> Energy:
        """Close the window here; returns on the counter's next tick, which bounds the energy up to here."""
        closed_s = self._clock.now()
        if self._window is None:
            return self._refusal
        try:
            return self._closed(self._window, closed_s)
        except DriverError as error:
            return Energy.refused("unavailable", str(error))
        except Exception as error:  # timing must go on whatever the meter meets
            return Energy.refused("unavailable", f"the meter failed: {error!r}")
        finally:
            self._drop_window()

    def _drop_window(self) -> None:
        if self._window is not None:
            self._stop(self._window)
        self._window = None
        self._refusal = _NONE_OPEN

    @abstractmethod
    def _opened(self) -> W:
        """A window that opens now. May raise anything."""

    @abstractmethod
    def _closed(self, window: W, closed_s: float) -> Energy:
        """The energy of `window` up to `closed_s`. May raise anything."""

    @abstractmethod
    def _stop(self, window: W) -> None:
        """End what runs beside `window`."""
