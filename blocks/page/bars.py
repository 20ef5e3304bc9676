"""Progress of whatever trains, in notebooks and in terminals."""

import os
from typing import Any


class Progress:
    """A bar of training steps; call it with the step just done and its loss."""

    def __init__(self, bar: Any = None):
        self._bar = bar

    def __call__(self, step: int, loss: Any) -> None:
        if self._bar is None:
            return
        self._bar.set_postfix_str(f"loss {float(loss):.4g}", refresh=False)
        self._bar.update(step - self._bar.n)
        if step >= self._bar.total:
            self.close()

    def close(self) -> None:
        """Leave the bar as it stands; later calls show nothing."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(total: int, label: str = "") -> Progress:
    """A callback `report(step, loss)` that draws a bar of `total` steps.

    Steps count from 1. The bar closes itself at the last one; used in a `with`,
    also when training fails before. While the book is built (BLOCKS_BOOK=1 in the
    environment) it shows nothing: nobody waits before a finished page.
    """
    if os.environ.get("BLOCKS_BOOK") == "1":
        return Progress()
    # Loaded here, so that a chapter without training does not wait for its widgets.
    from tqdm.auto import tqdm

    return Progress(tqdm(total=total, desc=label or None))
