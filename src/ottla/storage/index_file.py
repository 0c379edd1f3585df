"""What the three index files share: fixed-size entries in memory, written out from time to time.

The entries of the active segment live in a bytearray and reach the file at roll, checkpoint and
close; a crash in between costs nothing, since recovery rebuilds what the file lacks. The entries
of a sealed segment are loaded when first needed and dropped again when idle. They are held as the
very bytes of the file, so that writing is a copy and looking up is a binary search with struct.
"""

from ottla.storage import fs


class IndexFile:
    """Entries of one index file."""

    __slots__ = ("_entries", "_path", "_persisted", "base_offset")

    entry_size = 0

    def __init__(self, path: str, base_offset: int, entries: bytearray | None = None) -> None:
        self._path = path
        self.base_offset = base_offset
        self._entries: bytes | bytearray | None = entries
        self._persisted = -1

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._path

    @property
    def loaded(self) -> bool:
        """Whether the entries are in memory."""
        return self._entries is not None

    @property
    def entries(self) -> bytes | bytearray:
        """The raw entries, read from the file when they are not in memory."""
        return self._entries if self._entries is not None else self.load(wait=True)

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.entries) // self.entry_size

    def load(self, *, wait: bool) -> bytes | bytearray:
        """Read the file into memory; without wait, raise WouldBlock rather than touch the disk."""
        read = fs.read_file if wait else fs.read_file_nowait
        data = read(self._path) or b""
        entries = self._trimmed(data[: len(data) - len(data) % self.entry_size])
        self._persisted = len(entries) if len(entries) == len(data) else -1
        # Assigned in one step: a cold read may load in a thread while the loop looks at it.
        self._entries = entries
        return entries

    def make_writable(self) -> None:
        """Be ready to go on appending."""
        if not isinstance(self._entries, bytearray):
            self._entries = bytearray(self.load(wait=True))

    def unload(self) -> None:
        """Drop the entries of a sealed segment from memory; the file holds them."""
        if not isinstance(self._entries, bytearray):
            self._entries = None

    def flush(self) -> bool:
        """Write to the file what it lacks; True when there was something to write."""
        entries = self._entries
        if not isinstance(entries, bytearray) or len(entries) == self._persisted:
            return False
        start = max(self._persisted, 0)
        fs.write_tail(self._path, start, memoryview(entries)[start:])
        self._persisted = len(entries)
        return True

    def seal(self) -> None:
        """Write all out and drop it from memory: the segment takes no more appends."""
        self.flush()
        self._entries = None

    def reset(self) -> None:
        """Begin an empty index; the file is overwritten by the next flush."""
        self._entries = bytearray()
        self._persisted = -1

    def keep(self, count: int) -> None:
        """Drop every entry behind the first count."""
        size = count * self.entry_size
        entries = self.entries
        if len(entries) <= size:
            return
        self._entries = bytearray(entries[:size])
        self._persisted = -1  # the next flush writes the file anew

    def _append(self, entry: bytes) -> None:
        if not isinstance(self._entries, bytearray):
            self.make_writable()
        self._entries += entry  # type: ignore[operator]

    def _trimmed(self, data: bytes | bytearray) -> bytes:
        # Kafka preallocates the active segment's indexes with zeros and cuts them at a clean stop;
        # a first entry may well be zero, a later one never is.
        size = self.entry_size
        if not data.endswith(bytes(size)):
            return bytes(data)
        used = len(data.rstrip(b"\0"))
        return bytes(data[: max(size, -(-used // size) * size)])
