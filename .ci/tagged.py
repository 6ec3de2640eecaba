"""Whether tag, version, packages, change log and metadata agree: `python .ci/tagged.py v0.1.0 dist/*`."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def version() -> str:
    """The version, from the one place where it stands."""
    found = re.search(r'^__version__ = "(.+?)"', text("qpsvm/__init__.py"), flags=re.MULTILINE)
    return found.group(1) if found else ""


def faults(tag: str, packages: list[str]) -> list[str]:
    """What does not agree with the version, in sentences."""
    now, said = version(), []
    if tag != f"v{now}":
        said.append(f"the tag is {tag}, the version {now}")
    said += [f"{each} is not of version {now}" for each in packages if not Path(each).name.startswith(f"qpsvm-{now}")]
    if ".dev" in now:
        said.append(f"{now} is a version in development, which is not published")
    return said + metadata_faults()


def metadata_faults() -> list[str]:
    """What change log and metadata say otherwise than the version; a version in development has no date."""
    now, said = version(), []
    dated = re.search(rf"^## \[{re.escape(now)}\] – (\d{{4}}-\d\d-\d\d)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    date = dated.group(1) if dated else None
    if date is None and ".dev" not in now:
        said.append(f"CHANGELOG.md has no section [{now}] with a date")
    cited = dict(re.findall(r'^(version|date-released): "?([^"\n]+)"?$', text("CITATION.cff"), flags=re.MULTILINE))
    if (cited["version"], cited.get("date-released")) != (now, date):
        said.append(f"CITATION.cff says {cited}, and it is {now} of {date}")
    code = json.loads(text("codemeta.json"))
    if (code["version"], code.get("datePublished")) != (now, date):
        said.append(f"codemeta.json says {code['version']} of {code.get('datePublished')}, and it is {now} of {date}")
    if json.loads(text(".zenodo.json"))["version"] != now:
        said.append(f".zenodo.json is not of version {now}")
    return said


if __name__ == "__main__":
    if wrong := faults(sys.argv[1], sys.argv[2:]):
        sys.exit("\n".join(wrong))
