"""Print the lowest versions that pyproject.toml allows, as constraints for pip: `name==version`, one a line.

python .ci/constraints.py test bench > lowest.txt       # the dependencies, and those of these extras
"""

import re
import sys
import tomllib
from pathlib import Path

#: Every requirement of this project is a name and a lower bound, and may say which extras, and where it holds.
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?>=([0-9.]+)(?: *;.+)?")


def lowest(requirements: list[str]) -> dict[str, str]:
    """Lower bounds by name; two bounds for one name must agree."""
    found: dict[str, str] = {}
    for requirement in requirements:
        matched = REQUIREMENT.fullmatch(requirement)
        if matched is None:
            sys.exit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        name, version = matched.groups()
        if found.setdefault(name, version) != version:
            sys.exit(f"pyproject.toml: {name} has two lower bounds, {found[name]} and {version}")
    return found


def main(extras: list[str]) -> None:
    """Read pyproject.toml beside this folder, and print."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    requirements = project["dependencies"] + [r for name in extras for r in project["optional-dependencies"][name]]
    for name, version in lowest(requirements).items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main(sys.argv[1:])
