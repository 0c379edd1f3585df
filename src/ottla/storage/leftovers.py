"""What a crash leaves in a partition directory: deletions, and swaps of compacted segments.

Compacted segments are written as `.cleaned`, renamed to `.swap` from the last to the first, then
the old ones are set aside and each `.swap` loses its suffix. Until the first rename the old data
stands; once no `.cleaned` is left, the new data does.
"""

import re

from ottla.protocol.records.batch import HEADER_SIZE, parse_header
from ottla.storage import fs
from ottla.storage.segment import INDEX_SUFFIXES, LOG_SUFFIX, file_prefix

_NAME = re.compile(r"(\d{20})(\.log|\.index|\.timeindex|\.txnindex)(\.swap|\.cleaned)?")
_RUBBISH = (".deleted", ".cleaned", ".tmp")


def settle_leftovers(directory: str) -> dict[str, int]:
    """Remove or complete what a crash interrupted; returns the files that count."""
    files = fs.list_files(directory)
    parsed = {name: match for name in files if (match := _NAME.fullmatch(name))}
    cleaned = [int(match[1]) for match in parsed.values() if match[3] == ".cleaned"]
    # While a .cleaned one is left, the .swap ones belong to a replacement that never took place.
    first_cleaned = min(cleaned, default=None)
    swaps = {name: match for name, match in parsed.items() if match[3] == ".swap"}
    if first_cleaned is not None:
        void = [name for name, match in swaps.items() if int(match[1]) >= first_cleaned]
        fs.unlink(f"{directory}/{name}" for name in void)
        swaps = {name: match for name, match in swaps.items() if name not in void}
    fs.unlink(f"{directory}/{name}" for name in files if name.endswith(_RUBBISH))
    if swaps:
        _finish_swap(directory, swaps, parsed)
    rubbish = any(name.endswith((*_RUBBISH, ".swap")) for name in files)
    return fs.list_files(directory) if rubbish else files


def rename_segment(directory: str, base_offset: int, old: str, new: str) -> None:
    """Change the suffix of every file of a segment that exists, the .log file first."""
    prefix = file_prefix(directory, base_offset)
    for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
        fs.rename(f"{prefix}{suffix}{old}", f"{prefix}{suffix}{new}", missing_ok=True)


def _finish_swap(
    directory: str, swaps: dict[str, "re.Match[str]"], parsed: dict[str, "re.Match[str]"]
) -> None:
    logs = [int(match[1]) for match in swaps.values() if match[2] == LOG_SUFFIX]
    if logs:
        low = min(logs)
        # The new segment may be empty, but it always replaces the old one of its own name.
        high = max(low + 1, *(_end_of_swap(directory, base) for base in logs))
        covered = [
            name for name, match in parsed.items() if not match[3] and low <= int(match[1]) < high
        ]
        fs.unlink(f"{directory}/{name}" for name in covered)
    for name in swaps:
        fs.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix('.swap')}")
    fs.sync_path(directory)


def _end_of_swap(directory: str, base_offset: int) -> int:
    path = f"{file_prefix(directory, base_offset)}{LOG_SUFFIX}.swap"
    fd = fs.open_file(path)
    end_offset, position = base_offset, 0
    try:
        while len(head := fs.pread(fd, HEADER_SIZE, position)) == HEADER_SIZE:
            header = parse_header(head)
            end_offset = header.last_offset + 1
            position += max(header.size_bytes, HEADER_SIZE)
    finally:
        fs.close(fd)
    return end_offset
