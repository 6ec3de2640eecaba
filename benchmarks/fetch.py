"""Where the files of the suites come from: addresses, checksums, and how each becomes the file that a suite reads.

An address names a commit, so that what is there does not change. A file is kept only where its checksum is the one on
which the figures were measured: that of its content, unpacked. Some are in the formats of R or MATLAB: made by hand.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import lzma
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from qpsvm.base.errors import UnknownOptionError, describe_nearest

ADDRESS = "https://raw.githubusercontent.com"
#: Seconds to wait for an answer.
FETCH_SECONDS = 30.0
#: The folder of the files, where `--data` names no other.
DATA = Path("../shared/data")
#: Labels that are text, as numbers.
LABELS = {"g": "1", "h": "-1"}


class FileOrigin(NamedTuple):
    """Of one file.

    sha256: Of its content, unpacked.
    at: Repository, commit and path.
    how: "as it is", "bz2", "first 1000" (lines), "label last" or "label first" (of a table, with or without a head in
        ARFF; ", 0 is -1" renames a label); else what has to be done by hand.
    """

    sha256: str
    at: str
    how: str = "as it is"

    @property
    def address(self) -> str:
        return f"{ADDRESS}/{self.at}"


TSIM = "ambroiseodt/tsim/c80abbd765cdaa57ad2b598583251850ded28e62/data"
RANKING = "bokunwang1/P-norm-Push/a2993349a1261bee45754a99cae9be6efbea1b23/data"
BOOST = "deshanadesai/GreedyBoost/04a6bf038e7724ae6438f00fcf38f3ef8c4d78c9/data"
TICK = "X-DataInitiative/tick-datasets/9d959b6e53e17145e93e9849ff1f9f6d2de8ae51"
BENCH = "cran/mlbench/a6ad5ce6cccb46dcaa5df2a6e184aaae97077817/data"
OF_R = "by hand: a data frame of R as LIBSVM text, without zeros; classes are counted from 1"
ORIGINS = {
    "a9a.xz": FileOrigin("35b6bafa772838b1eb3000a6550ff48505ad79aaa381cfd28960e68679f4453b", f"{RANKING}/a9a.txt"),
    "abalone_scale": FileOrigin(
        "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b",
        f"{TICK}/regression/abalone/abalone.trn.bz2",
        "bz2",
    ),
    "australian": FileOrigin(
        "25a5d45d53b5db7c402f1bf58aea5ed5f0387ad525ec7f0131585f1f63033b38",
        "CornellHPC/Vivaldi/e4843740dfbd0c09a674615bbbb914ca49e098e9/data/australian.txt",
    ),
    "cod-rna_zscore.xz": FileOrigin(
        "4c0309977ca472a2640658167881bc329a1b0d9b33bedde07760d8a7ac9b4356",
        "g2clv7fwl945/convex_dataset/3d8f83c73359ab9fa28b0272dde94236cc26b7ec/cor_rna_scaled.mat",
        "by hand: a matrix of MATLAB as LIBSVM text, %.9g",
    ),
    "cpusmall": FileOrigin(
        "399618e16393241f150cc9f6c91fac70431a2b35b3e6f6e010cab503be22241e",
        "genyang/datasets/9cf25ea6e5b376a5a2a98092cb6ab8b03f05adcf/cpu_small.arff",
        "label last",
    ),
    "dna": FileOrigin("a555225f0ad7a4584caae93477906653c10fffbfa5f74901be640ca26617c044", f"{BENCH}/DNA.rda", OF_R),
    "german.numer": FileOrigin(
        "69ffe0c4ba0bd91f936986d7c070dfca7e22064bbd5ab8e1fb925d6c86024ec8", f"{BOOST}/german.numer"
    ),
    "heart": FileOrigin("f0437e4847e6293a20850ef3fa2a809a1e11250a5b8760b259510bb321652470", f"{BOOST}/heart.binary"),
    "heart_scale": FileOrigin(
        "5defa0a4c4c5bdaf3f55ae3828310252e8565c13ee37ce279e0b86d82e7f4ce9",
        "cjlin1/libsvm/6b907139084abf2da4d6d3cb10dc3b7eaffa2fbb/heart_scale",
    ),
    "housing_scale": FileOrigin(
        "bbacd2f526a038499717d5dc4b8895e6baf1e2351895b9360a84bcb31e104476",
        "zhengruifeng/SparkGBM/600ffe911864d746ec06940d98cd1232c4253bad/data/housing_scale",
    ),
    "ijcnn1.xz": FileOrigin(
        "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19",
        f"{TICK}/binary/ijcnn1/ijcnn1.trn.bz2",
        "bz2",
    ),
    "letter.xz": FileOrigin(
        "99041d4db4cdbec382e9dd38885e4d3294d27e99bea307daf095315a4406d482", f"{BENCH}/LetterRecognition.rda", OF_R
    ),
    "magic04.xz": FileOrigin(
        "5eee2eeb41a471de8e03d0f3ee5977cf31c010e48c7325e48c56ddca6bf9a944", f"{RANKING}/magic04.data", "label last"
    ),
    "mushrooms": FileOrigin(
        "eb26424a54203ca9e8956ff3e5b10e613dfc3587f65d21bdbdbc28020fd995e0", f"{TSIM}/mushrooms.txt"
    ),
    "phishing.xz": FileOrigin(
        "48bcea643233b42db820c601781db2a32e720e01f7e23be5e9b7326f32dc6503", f"{TSIM}/phishing.txt"
    ),
    "reuters.xz": FileOrigin(
        "caacd2baf041b15b51ab65c0ec2ac834a439a561fb6708427c1c002c10ac7215",
        f"{TICK}/binary/reuters/reuters.trn.bz2",
        "bz2",
    ),
    "satimage.xz": FileOrigin(
        "da372357e1e21a11150e22585ce6f91a8b6a2bf80277f120f65cc161fa4c6dee", f"{BENCH}/Satellite.rda", OF_R
    ),
    "shuttle.xz": FileOrigin(
        "59ae22ccbe9364f85a56bbaa7a50eb9abcadd15c47a2c09c26aa34592bad61be", f"{BENCH}/Shuttle.rda", OF_R
    ),
    "space_ga_minmax": FileOrigin(
        "36272d304906c43ecabf74771b21e7478cba11ecafe29ad767b26b962ee6082d",
        "SMALE-SSR/CoBCReg/f57791532818717c7c988c01c7bc896a7de4af16/data/space_ga.arff",
        "label first",
    ),
    "spambase": FileOrigin(
        "5531533588e0fd2a0c050c79c7793d34f14bfb9ba42f87af174fa7ecf4d0946f",
        "JoshEKruse-zz/Gradient_Descent/0f73e7ef9fcc4690507786e6dfbad2816e67f861/spam.data",
        "label last, 0 is -1",
    ),
    "splice": FileOrigin(
        "eee33566cfe8988ec26122460cc712d66c5c5b79b966b259408e803addaa584d", f"{TSIM}/splice.txt", "first 1000"
    ),
    "svmguide1": FileOrigin(
        "2b9ab55b6236f62cee6b7739b52f9e7cb033771f39b9c22c1f1790d80ef14d7f", f"{TSIM}/svmguide1.txt"
    ),
    "usps.xz": FileOrigin(
        "83b3e2490d0da05237ce1f63477763c3ae116bff90700822d6ed810791432fa9",
        "cran/ElemStatLearn/253e54016d004ac67879b594311651be3debbed4/data/zip.train.RData",
        "by hand: a matrix of R as LIBSVM text, %.6g, digit d as label d + 1",
    ),
    "w8a.xz": FileOrigin(
        "b464b4f6ce6a5d9e181ffc793e19a04751036273722312398ef7673705014902",
        "unc-optimization/AccSPD/d2f1f2c961e3401032649544445bb24ab63ab1c5/data/w8a",
    ),
}


def content(raw: bytes, how: str) -> bytes:
    """The file that a suite reads, from what is at its address."""
    if how == "bz2":
        return bz2.decompress(raw)
    if how.startswith("first "):
        return b"".join(raw.splitlines(keepends=True)[: int(how.split()[1])])
    return to_libsvm_text(raw.decode(), how) if how.startswith("label") else raw


def to_libsvm_text(text: str, how: str) -> bytes:
    """A table of numbers, parted by commas or blanks, with or without a head in ARFF: zeros are left out."""
    lines = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip()[0] in "@%":
            continue
        cells = line.replace(",", " ").split()
        label = cells.pop(0 if how.startswith("label first") else -1)
        if how.endswith("0 is -1") and float(label) == 0.0:
            label = "-1"
        else:
            label = LABELS.get(label, label)
        label = f"{float(label):.9g}"
        entries = [f"{j}:{float(cell):.9g}" for j, cell in enumerate(cells, 1) if float(cell)]
        lines.append(" ".join([label, *entries]))
    return ("\n".join(lines) + "\n").encode()


def describe_state(path: Path, origin: FileOrigin) -> str:
    """ "there", "absent", or "another" content than the figures were measured on."""
    if not path.exists():
        return "absent"
    raw = path.read_bytes()
    try:
        found = lzma.decompress(raw) if path.suffix == ".xz" else raw
    except lzma.LZMAError:  # damaged
        return "another"
    if hashlib.sha256(found).hexdigest() == origin.sha256:
        return "there"
    return "another"


def fetch_file(path: Path, origin: FileOrigin) -> str:
    """Bring one file, and say how that ended; "" where it is there."""
    try:
        with urllib.request.urlopen(origin.address, timeout=FETCH_SECONDS) as answer:
            found = content(answer.read(), origin.how)
    except (OSError, EOFError, ValueError, HTTPException) as error:
        return f"cannot be fetched: {error}"
    if hashlib.sha256(found).hexdigest() != origin.sha256:
        return "what came has another checksum, and was not kept"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(lzma.compress(found) if path.suffix == ".xz" else found)
    part.replace(path)
    return ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `python -m benchmarks fetch`."""
    parser.add_argument("names", nargs="*", help="files (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder for them")
    parser.add_argument("--list", action="store_true", help="only say what is there, with addresses and checksums")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Bring what is absent; 0 where all is there. Raises UnknownOptionError."""
    unknown = [name for name in options.names if name not in ORIGINS]
    if unknown:
        raise UnknownOptionError(f"no suite reads {unknown[0]!r}; {describe_nearest(unknown[0], list(ORIGINS))}")
    missing = 0
    for name in options.names or ORIGINS:
        origin = ORIGINS[name]
        path = options.data / name
        said = describe_state(path, origin)
        if said == "absent" and not options.list:
            by_hand = origin.how.startswith("by hand")
            said = origin.how if by_hand else fetch_file(path, origin) or "fetched"
        missing += said not in ("there", "fetched")
        print(f"{name}: {said}")
        if options.list or said not in ("there", "fetched"):
            print(f"  {origin.address}\n  sha256 {origin.sha256} of the content ({origin.how})")
    print(
        f"{missing} of {len(options.names or ORIGINS)} files are missing in {options.data.resolve()}", file=sys.stderr
    )
    return int(missing > 0)
