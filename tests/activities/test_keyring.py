import base64
import re
from pathlib import Path

import pytest

from activities.keyring import Keyring, KeyringError
from workflows.policy.words import Channel

KEY = base64.b64encode(b"k" * 32).decode()
SHORT = base64.b64encode(b"k" * 16).decode()
WHOLE = f'current = "a"\n[payload]\n"a" = "{KEY}"\n[address]\nkey = "{KEY}"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "standby.key"


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_new_file_is_read_back_and_only_its_owner_can_open_it(path: Path) -> None:
    made = Keyring.create(path)
    assert Keyring.load(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    Keyring.create(path)
    before = path.read_bytes()
    with pytest.raises(KeyringError, match="exists; to add a key do: standby key rotate"):
        Keyring.create(path)
    assert path.read_bytes() == before


def test_rotation_adds_a_key_and_keeps_the_old_one_and_the_address_key(path: Path) -> None:
    old = Keyring.create(path)
    new = Keyring.rotate(path)
    assert new == Keyring.load(path)
    assert new.current != old.current
    assert dict(new.payload).items() > dict(old.payload).items()
    assert new.address == old.address
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_files_of_one_day_do_not_share_a_key_id(tmp_path: Path) -> None:
    made = [Keyring.create(tmp_path / str(number)) for number in range(5)]
    assert len({each.current for each in made}) == 5


def test_a_missing_file_names_the_command_that_makes_one(path: Path) -> None:
    with pytest.raises(
        KeyringError, match=re.escape(f"does not exist; make one with: standby key new {path}")
    ):
        Keyring.load(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE.replace('current = "a"', 'current = "b"'), "current: must be one of a"),
        (WHOLE.replace('current = "a"\n', ""), "current: must be one of a"),
        (WHOLE.replace(f'"a" = "{KEY}"', f'"a" = "{SHORT}"'), "payload.a: must be 32 bytes in base64, is 16"),
        (WHOLE.replace(f'"a" = "{KEY}"', '"a" = "not base64!"'), "payload.a: is not base64"),
        (WHOLE.replace(f'"a" = "{KEY}"', '"a" = 5'), "payload.a: must be 32 bytes"),
        (WHOLE.replace('"a" =', '"a b" ='), "payload: a key id is made of"),
        (WHOLE.replace(f'key = "{KEY}"', f'key = "{SHORT}"'), "address.key: must be 32 bytes"),
        (WHOLE.partition("[address]")[0], r"\[address\] is missing"),
        ('current = "a"', r"\[payload\] is missing"),
        ("", r"\[payload\] is missing"),
        ("current =", "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_in_one_line(path: Path, text: str, says: str) -> None:
    with pytest.raises(KeyringError, match=says) as caught:
        Keyring.load(written(path, text))
    message = str(caught.value)
    assert message.startswith(f"key file {path}: ")
    assert "\n" not in message
    assert KEY not in message
    assert SHORT not in message


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602])
def test_a_file_that_other_users_can_reach_is_refused(path: Path, mode: int) -> None:
    with pytest.raises(KeyringError, match=re.escape(f"chmod 600 {path}")):
        Keyring.load(written(path, WHOLE, mode))


def test_a_file_shared_with_its_group_is_read(path: Path) -> None:
    """Kubernetes mounts secrets for a group."""
    assert Keyring.load(written(path, WHOLE, 0o640)).current == "a"


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyringError, match="cannot be made: No such file or directory"):
        Keyring.create(tmp_path / "nowhere" / "standby.key")


def test_a_rotation_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    """The name is so long that the new file, which stands beside it until it is whole, cannot have one."""
    path = tmp_path / ("n" * 250)
    written(path, WHOLE)
    with pytest.raises(KeyringError, match="cannot be written: File name too long"):
        Keyring.rotate(path)
    assert path.read_text() == WHOLE


def test_keys_are_never_in_a_repr(path: Path) -> None:
    made = Keyring.create(path)
    shown = f"{made!r} {made}"
    for key in (*made.payload.values(), made.address):
        assert repr(key) not in shown
        assert base64.b64encode(key).decode() not in shown


def test_an_address_hash_depends_on_address_channel_and_key(path: Path) -> None:
    ring = Keyring.create(path)
    hashed = ring.address_hash(Channel.EMAIL, "anna@example.test")
    assert hashed == Keyring.rotate(path).address_hash(Channel.EMAIL, "anna@example.test")
    assert re.fullmatch(r"[0-9a-f]{64}", hashed)
    assert hashed != ring.address_hash(Channel.SMS, "anna@example.test")
    assert hashed != ring.address_hash(Channel.EMAIL, "annb@example.test")
    assert hashed != Keyring.plaintext().address_hash(Channel.EMAIL, "anna@example.test")


def test_the_plaintext_ring_seals_nothing_and_hashes_the_same_everywhere() -> None:
    ring = Keyring.plaintext()
    assert ring.current is None
    assert not ring.payload
    assert ring == Keyring.plaintext()
