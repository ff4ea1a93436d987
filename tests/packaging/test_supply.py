"""What the environment is made of: hashes of its files, none yanked, and the licence of every package."""

from __future__ import annotations

import re

import pytest

from tests.packaging import licences, locked

PINS = dict(re.findall(r"^([\w.-]+)==(\S+)", (locked.CHECKOUT / "constraints.txt").read_text(), re.MULTILINE))
LOCK = locked.entries(locked.LOCK.read_text())


def test_the_lock_has_the_versions_of_the_constraints_and_a_hash_of_each_file():
    assert len(LOCK) > 100
    for name, (version, hashes) in LOCK.items():
        assert PINS[name] == version.partition("+")[0], name
        assert len(hashes) >= 1
    assert {name for name, (version, _) in LOCK.items() if "+" in version} <= {"torch"}


def test_the_lock_is_whole():
    """All that odernn, its tests and its site need, by the metadata of what is installed."""
    found = licences.installed()
    needed = licences.brought(found, "test") | (licences.brought(found, "docs") if "sphinx" in found else set())
    assert len(needed) > 60 and {"torch", "numba", "pytest", "jinja2", "llvmlite"} <= needed
    if locked.applies():
        assert needed - set(LOCK) == set()
    assert needed - set(PINS) <= {"colorama", "triton", "tomli", "pywin32-ctypes"}  # for systems that it is not on


@pytest.mark.parametrize(
    "text",
    [
        "numpy==2.4.6\n",
        "numpy==2.4.6 --hash=md5:00\n",
        "numpy --hash=sha256:" + 64 * "0",
        2 * f"a==1 --hash=sha256:{64 * '0'}\n",
    ],
)
def test_a_lock_without_a_hash_or_version_or_with_a_package_twice_is_refused(text: str):
    with pytest.raises(ValueError, match="no package with a version and its hashes, or is twice"):
        locked.entries(text)


def test_a_lock_is_written_of_what_pip_reports_and_not_without_a_hash():
    def item(name: str, **archive: object) -> dict[str, object]:
        return {"metadata": {"name": name, "version": "1.0"}, "download_info": {"archive_info": archive}}

    digest = 64 * "a"
    given = {
        "install": [item("Zict", hashes={"sha256": digest}), item("odernn"), item("a_b.c", hashes={"sha256": digest})]
    }
    text = locked.lock_of(given)
    assert list(locked.entries(text).items()) == [("a-b-c", ("1.0", (digest,))), ("zict", ("1.0", (digest,)))]
    with pytest.raises(ValueError, match=r"gives no SHA-256 of numpy 1\.0"):
        locked.lock_of({"install": [item("numpy")]})


def test_a_wrong_hash_and_a_yanked_version_are_faults():
    assert locked.faults(0, "Would install numpy") == []
    said = "WARNING: The candidate selected for download or install is a yanked version: 'pip' candidate (version 1.0)"
    assert locked.faults(0, said) == ["pip was yanked: whoever published it took it back. Choose another version."]
    said = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n  x\n    Expected sha256 aa\n         Got        bb\n"
    (fault,) = locked.faults(1, said)
    assert "DO NOT MATCH" in fault and "Expected sha256 aa" in fault and "Got" in fault
    assert locked.faults(1, "no reason given") == ["no reason given"]


# --- licences


def test_every_pinned_package_has_its_licence_on_the_page():
    shown, found = licences.rows(licences.PAGE.read_text()), licences.installed()
    assert list(shown) == sorted(map(locked.canonical, PINS))
    compared = [name for name in shown if name in found and str(found[name].version).partition("+")[0] == PINS[name]]
    assert len(compared) > 60
    for name in compared:
        assert shown[name][0] == licences.licence(found[name]), name
    assert (
        licences.page(found, licences.PAGE.read_text()).splitlines()[:9] == licences.PAGE.read_text().splitlines()[:9]
    )


def test_every_licence_has_been_looked_at_and_a_new_one_would_be_seen():
    for name, (kind, _) in licences.rows(licences.PAGE.read_text()).items():
        assert kind and all(re.fullmatch(licences.REVIEWED, part) for part in licences.parts(kind)), (name, kind)
    for kind in ("AGPL-3.0-only", "MIT AND GPL-3.0-only", "", "Proprietary"):
        assert not all(re.fullmatch(licences.REVIEWED, part) for part in licences.parts(kind))
