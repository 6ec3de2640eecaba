"""Large tables by blocks, from seeds: dense ones as .npy and Parquet, a sparse one as LIBSVM text.

gauss   X standard normal, y = sign(Xw + 2·noise): two clouds that overlap
heavy   Student's t with three degrees of freedom, columns in units from 10⁻² to 10², the same labels: what a table
        looks like that nobody has scaled
text    rows of about 50 of 10⁵ columns, drawn by a power law, as words are
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

Kind = Literal["gauss", "heavy", "text"]
DENSE: tuple[Kind, ...] = ("gauss", "heavy")

#: Columns of the dense tables, as in the project's other figures of this size.
COLUMNS = 34
#: Columns of the sparse one, and numbers a row, on average.
WORDS, ROW_WORDS = 100_000, 50
#: Rows that are drawn and written at a time; each block has a seed of its own.
BLOCK = 250_000
#: Deviation of the noise in units of that of a feature; the signal's is √d.
NOISE = 2.0
#: Degrees of freedom of the heavy tails: the fewest with a variance.
FREEDOM = 3.0
#: Powers of ten between which the columns' units lie.
UNITS = (-2.0, 2.0)
#: Exponent of the power law of words.
ZIPF = 1.1


@dataclass(frozen=True)
class LargeTable:
    """A table by its recipe, and where it is.

    Attributes
    ----------
    folder : Path
    kind : "gauss", "heavy" or "text"
    n : int
    dtype : str
        Of the numbers that are stored.
    columns : int
        Of a dense table.
    """

    folder: Path
    kind: Kind
    n: int
    dtype: str = "float64"
    columns: int = COLUMNS

    @property
    def d(self) -> int:
        """Columns."""
        return WORDS if self.kind == "text" else self.columns

    @property
    def name(self) -> str:
        """The name in records and file names."""
        return f"{self.kind}-{self.n}x{self.d}-{self.dtype}"

    @property
    def rows_path(self) -> Path:
        """X as .npy."""
        return self.folder / f"{self.name}.npy"

    @property
    def target_path(self) -> Path:
        """Y as .npy."""
        return self.folder / f"{self.name}.y.npy"

    @property
    def parquet_path(self) -> Path:
        """X and y."""
        return self.folder / f"{self.name}.parquet"

    @property
    def text_path(self) -> Path:
        """The sparse table."""
        return self.folder / f"{self.name}.libsvm"

    def format_title(self) -> str:
        """Format the title of the table."""
        power = f"{self.n:.0e}".replace("e+0", "e")
        return f"{self.kind}, {power} × {self.d}" + ("" if self.kind == "text" else f", {self.dtype}")

    def write_files(self) -> None:
        """Write what is not there yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.kind == "text":
            _write_atomically(self.text_path, self._write_text)
        else:
            _write_atomically(self.rows_path, self._write_rows)
            _write_atomically(self.parquet_path, self._write_parquet)

    def iter_blocks(self) -> Iterator[tuple[Any, NDArray[np.int8]]]:
        """X (k, d) and y (k,), a block after the other, from the seeds."""
        w = np.random.default_rng(0).standard_normal(self.d)
        for number, start in enumerate(range(0, self.n, BLOCK)):
            rng = np.random.default_rng([1, number])
            k = min(BLOCK, self.n - start)
            yield _draw_sparse(rng, k, w) if self.kind == "text" else self._draw_dense(rng, k, w)

    def _draw_dense(self, rng: np.random.Generator, k: int, w: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int8]]:
        if self.kind == "gauss":
            X = rng.standard_normal((k, self.d))
        else:
            X = rng.standard_t(FREEDOM, (k, self.d))
        y = _draw_labels(rng, X @ w)
        if self.kind == "heavy":
            X *= np.logspace(*UNITS, self.d)
        return X.astype(self.dtype, copy=False), y

    def _write_rows(self, path: Path) -> None:
        X = open_memmap(path, "w+", np.dtype(self.dtype), (self.n, self.d))
        y = np.empty(self.n, np.int8)
        for start, (rows, labels) in zip(range(0, self.n, BLOCK), self.iter_blocks(), strict=True):
            X[start : start + len(labels)], y[start : start + len(labels)] = rows, labels
        X.flush()
        np.save(self.target_path, y)

    def _write_parquet(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [f"x{j}" for j in range(self.d)]
        kind = pa.from_numpy_dtype(self.dtype)
        schema = pa.schema([*((name, kind) for name in names), ("y", pa.int8())])
        X = np.load(self.rows_path, mmap_mode="r")
        y = np.load(self.target_path)
        with pq.ParquetWriter(path, schema) as file:
            for start in range(0, self.n, BLOCK):
                columns = np.ascontiguousarray(X[start : start + BLOCK].T)
                arrays = [pa.array(column) for column in columns]
                file.write_table(pa.table([*arrays, pa.array(y[start : start + BLOCK])], schema=schema))

    def _write_text(self, path: Path) -> None:
        with path.open("w", encoding="ascii") as file:
            for X, y in self.iter_blocks():
                words = list(map("%d:%.4g".__mod__, zip((X.indices + 1).tolist(), X.data.tolist(), strict=True)))
                ends = X.indptr.tolist()
                file.writelines(
                    f"{label:+d} {' '.join(words[ends[i] : ends[i + 1]])}\n" for i, label in enumerate(y.tolist())
                )


def _write_atomically(path: Path, write: Any) -> None:
    """Under another name until it is complete, so that an interrupt leaves no half table."""
    if not path.exists():
        part = path.with_name(f"part-{path.name}")
        write(part)
        part.rename(path)


def _draw_labels(rng: np.random.Generator, signal: NDArray[Any]) -> NDArray[np.int8]:
    """−1 and +1: the sign of the signal with its noise."""
    noisy = signal + NOISE * rng.standard_normal(len(signal))
    return np.where(noisy > 0.0, 1, -1).astype(np.int8)


def _draw_sparse(rng: np.random.Generator, k: int, w: NDArray[Any]) -> tuple[Any, NDArray[np.int8]]:
    """Rows of words, each of length 1, as a CSR array of sorted columns."""
    import scipy.sparse as sp

    lengths = rng.poisson(ROW_WORDS, k) + 1
    words = np.minimum(rng.zipf(ZIPF, lengths.sum()) - 1, WORDS - 1 - rng.integers(0, WORDS // 2, lengths.sum()))
    X = sp.csr_array((np.ones(len(words)), words, np.concatenate([[0], np.cumsum(lengths)])), (k, WORDS))
    X.sum_duplicates()
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    signal = X @ w
    return X, _draw_labels(rng, signal / signal.std() * NOISE)
