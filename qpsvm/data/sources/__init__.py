"""Open samples from files and other stores as rows that are read one block at a time (`open_rows`).

Arrays and .npy files are memory-mapped (`arrays`). Other formats are decoded once, into a scratch file that is then
mapped (`scratch`). Either way a pass reads blocks of about 32 MB, which need no memory of their own. Dask collections
are in `dask_rows`.
"""

from typing import TYPE_CHECKING

from qpsvm.base.renamed_modules import build_lazy_attributes

if TYPE_CHECKING:
    from qpsvm.data.sources.opening import open_rows
    from qpsvm.data.sources.stored import StoredRows
else:
    __getattr__, __dir__ = build_lazy_attributes(
        __name__, {"qpsvm.data.sources.opening": ("open_rows",), "qpsvm.data.sources.stored": ("StoredRows",)}
    )

__all__ = ["StoredRows", "open_rows"]
