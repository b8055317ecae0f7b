"""Every kind of notice that this deployment knows, read once and proved before anything is sent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from activities.discreet import PublicError
from activities.kind import Kind, unproved
from activities.tags import TemplateError
from activities.templates import PARTS, Templates, compile_template
from workflows.policy import contract, policy_file
from workflows.policy.models import NoticeRequest
from workflows.policy.terms import Policy
from workflows.policy.words import Channel

__all__ = ["Catalogue", "CatalogueError", "Kind", "UnknownKind"]

_LONGEST_SHOWN: Final = 80
_BESIDE: Final = ("policy.toml", "sample.json")
_OTHERS: Final = re.compile(r"\..*|.*~|README\.md")
"""What systems and editors leave behind, and a note for people."""


class UnknownKind(LookupError):  # noqa: N818 - the caller's mistake has this name
    """No such kind; the message lists those there are."""


class CatalogueError(PublicError):
    """A folder of kinds that may not be used; `problems` has one line for each mistake."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The kinds, by name."""

    kinds: Mapping[str, Kind]

    @classmethod
    def load(cls, directory: Path, public_url: str | None = None) -> Self:
        """Read every folder of a directory; raises CatalogueError with all that is wrong in any of them.

        With a public URL, a sample need not say where its email ends.
        """
        problems: list[str] = []
        kinds = [_read(folder, public_url, problems) for folder in _folders(directory)]
        if problems:
            raise CatalogueError(problems)
        return cls(MappingProxyType({kind.name: kind for kind in kinds if kind}))

    def get(self, name: str) -> Kind:
        """Return a kind; raises UnknownKind."""
        kind = self.kinds.get(name)
        if kind is None:
            shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
            raise UnknownKind(f"kind: {shown!r} is not one of {', '.join(sorted(self.kinds))}")
        return kind

    def chosen(self, channel: Channel) -> frozenset[str | None]:
        """Return the providers that kinds choose for a channel; None where one leaves it open."""
        policies = [kind.policy for kind in self.kinds.values() if channel in kind.policy.route]
        return frozenset(policy.watch(channel).provider for policy in policies)

    def is_essential(self, channel: Channel, chosen: str | None) -> bool:
        """Whether a kind that people cannot unsubscribe from is served on a channel by a provider."""
        policies = [kind.policy for kind in self.kinds.values() if channel in kind.policy.route]
        return any(policy.essential and policy.watch(channel).provider == chosen for policy in policies)

    def scaled(self, factor: float) -> Self:
        """Return the same kinds with every duration multiplied, for a demonstration."""
        return type(self)(MappingProxyType({name: kind.scaled(factor) for name, kind in self.kinds.items()}))


def _folders(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise CatalogueError([f"{directory}: no such folder; it holds one folder for each kind of notice"])
    found = sorted(each for each in directory.iterdir() if each.is_dir() and each.name[0] not in "._")
    if not found:
        raise CatalogueError([f"{directory}: holds no kind of notice; each is a folder with a policy.toml"])
    return found


def _read(folder: Path, public_url: str | None, problems: list[str]) -> Kind | None:
    """Read one folder; what is wrong is added to the problems."""
    policy = _policy(folder / "policy.toml", problems)
    templates = _templates(folder, policy.route if policy else _written(folder), problems)
    sample = _sample(folder / "sample.json", problems)
    problems += _stray(folder, policy)
    if policy is None or templates is None or sample is None:
        return None
    kind = Kind(folder.name, policy, policy_file.digest(policy), templates, sample)
    problems += unproved(kind, folder, public_url)
    return kind


def _policy(path: Path, problems: list[str]) -> Policy | None:
    try:
        return policy_file.read(_text(path), str(path))
    except policy_file.PolicyError as error:
        problems += error.problems
    except _UnreadableError as error:
        problems.append(str(error))
    return None


def _written(folder: Path) -> tuple[Channel, ...]:
    """Return the channels that a folder has templates for: what to check where no policy says it."""
    return tuple(each for each in Channel if any((folder / part.file).exists() for part in PARTS[each]))


def _templates(folder: Path, channels: Iterable[Channel], problems: list[str]) -> Templates | None:
    compiled = {}
    failed = False
    for part in (part for channel in channels for part in PARTS[channel]):
        path = folder / part.file
        try:
            compiled[part] = compile_template(_text(path), part, str(path))
        except (TemplateError, _UnreadableError) as error:
            problems.append(str(error))
            failed = True
    return None if failed else MappingProxyType(compiled)


def _sample(path: Path, problems: list[str]) -> NoticeRequest | None:
    try:
        return contract.parse(_text(path))
    except contract.ContractError as error:
        problems += [f"{path}: {problem}" for problem in error.problems]
    except _UnreadableError as error:
        problems.append(str(error))
    return None


def _stray(folder: Path, policy: Policy | None) -> Iterator[str]:
    """Say which files nobody would read: templates of a channel that is not used, or mistyped names."""
    owners = {part.file: channel for channel, parts in PARTS.items() for part in parts}
    known = [*_BESIDE, *owners]
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        channel = owners.get(path.name)
        if policy and channel and channel not in policy.route:
            yield f"{path}: {channel} is not in the route of policy.toml: add it there, or remove this file"
        elif path.name not in known and not _OTHERS.fullmatch(path.name):
            close = get_close_matches(path.name, known, n=1)
            meant = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            yield f"{path}: is no file of a kind; {meant}"


class _UnreadableError(Exception):
    """A file that is not there, or is not text."""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _UnreadableError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _UnreadableError(f"{path}: not UTF-8") from None
