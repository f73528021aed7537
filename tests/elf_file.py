"""The parts of an ELF file that tell how its linker hardened it: `readelf -lsW` for those who have none."""

from __future__ import annotations

import struct


class ElfFile:
    """A shared library of Linux, 64 bits, little-endian."""

    EXECUTABLE, WRITABLE = 1, 2
    # Kinds of segments, entries of the dynamic section and their flags, as in <elf.h>.
    LOAD, DYNAMIC, GNU_STACK, GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
    STRTAB, STRSZ, BIND_NOW, FLAGS, FLAGS_1 = 5, 10, 24, 30, 0x6FFFFFFB
    FLAG_BIND_NOW, FLAG_1_NOW = 8, 1

    def __init__(self, content: bytes) -> None:
        assert content[:6] == b"\x7fELF\x02\x01", "no little-endian ELF file of 64 bits"
        (at,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        # kind, flags, offset, address, physical address, size in the file, size in memory, alignment
        segments = [struct.unpack_from("<IIQQQQQQ", content, at + number * size) for number in range(count)]
        loaded = [segment for segment in segments if segment[0] == self.LOAD]
        self.segment_flags = [segment[1] for segment in loaded]
        self.stack_flags = next((segment[1] for segment in segments if segment[0] == self.GNU_STACK), None)
        self.has_read_only_relocations = any(segment[0] == self.GNU_RELRO for segment in segments)

        (dynamic,) = [segment for segment in segments if segment[0] == self.DYNAMIC]
        entries = dict(struct.iter_unpack("<QQ", content[dynamic[2] : dynamic[2] + dynamic[5]]))
        self.binds_at_once = (
            self.BIND_NOW in entries
            or bool(entries.get(self.FLAGS, 0) & self.FLAG_BIND_NOW)
            or bool(entries.get(self.FLAGS_1, 0) & self.FLAG_1_NOW)
        )
        address = entries[self.STRTAB]
        (start,) = [
            segment[2] + address - segment[3] for segment in loaded if 0 <= address - segment[3] < segment[5]
        ]
        # Names of symbols that come from elsewhere or are for others; those within are stripped.
        self.symbols = set(content[start : start + entries[self.STRSZ]].split(b"\0"))
