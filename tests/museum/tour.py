"""`python tests/museum/tour.py`: what every exhibit finds on this machine, as the table at the top of the page."""

from __future__ import annotations

import math

from test_museum import COLLECTION, show_exhibit

import qpsvm


def tour() -> None:
    """Each exhibit twice: the first time loads what is imported when first used."""
    print("| exhibit | peer | what it gives | gap | ms | ours | gap | ms |\n|---|---|---|---|---|---|---|---|")
    for name, one in COLLECTION.items():
        if one.version is None:
            continue
        show_exhibit(one)
        found = show_exhibit(one)
        ours = found.ours
        judged = isinstance(ours, (qpsvm.SVMResult, qpsvm.QPResult))
        answer = ours.status if judged else type(ours).__name__
        gap = f"{ours.gap:.0e}" if judged else "–"
        print(
            f"| [{name}](#{name}) | {one.package} {one.version} | {'' if found.fails else 'mended: '}{found.said} | "
            f"{'–' if math.isnan(found.gap) else f'{found.gap:.1e}'} | {1e3 * found.seconds:.3g} | {answer} | {gap} | "
            f"{1e3 * found.our_seconds:.3g} |"
        )


if __name__ == "__main__":
    tour()
