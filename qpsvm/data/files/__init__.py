"""Read a CSV or LIBSVM file, or a table in memory, into samples and labels, and later other rows in the same way.

A LIBSVM line is `label index:value index:value ...`. A CSV file has a header line, and commas, semicolons, tabs or |
between its cells. The content shows which of the two it is, and whether it is compressed by xz, gzip or bzip2. A column
of numbers becomes one feature, one of text a 0/1 feature for each of its categories; identifiers, free text and dates
are left out unless they are asked for. Lines are counted from 1, as in editors, and rows from 0.

`read_table` reads training samples and learns their `Encoding`; `read_with_encoding` reads new rows by it.
"""

from qpsvm.data.files.column_kinds import MissingPolicy, describe_columns
from qpsvm.data.files.encoded_table import EncodedTable, NewRows
from qpsvm.data.files.encoding import Column, ColumnSummary, Encoding, TargetKind
from qpsvm.data.files.frames import Frame, as_frame
from qpsvm.data.files.new_rows import ROW, read_with_encoding
from qpsvm.data.files.sheet import MISSING
from qpsvm.data.files.source import StandardInput
from qpsvm.data.files.text_format import DecimalMark, TextFormat
from qpsvm.data.files.training_table import RawTable, read_table

__all__ = [
    "MISSING",
    "ROW",
    "Column",
    "ColumnSummary",
    "DecimalMark",
    "EncodedTable",
    "Encoding",
    "Frame",
    "MissingPolicy",
    "NewRows",
    "RawTable",
    "StandardInput",
    "TargetKind",
    "TextFormat",
    "as_frame",
    "describe_columns",
    "read_table",
    "read_with_encoding",
]
