//! What a file is that is not ELF, by its first bytes (the magic numbers that file(1) knows).

/// What a file is that is not ELF.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Foreign {
    /// Nothing in it.
    Empty,
    /// A script; what stands behind `#!`.
    Script(String),
    /// A static library (`ar`).
    Archive,
    /// Packed; the name of the format.
    Compressed(&'static str),
    /// Code for something else; its name.
    OtherCode(&'static str),
    /// Text; a linker script is one.
    Text,
    /// Something else.
    Unknown,
}

/// First bytes and what they stand for.
const MAGIC: &[(&[u8], Foreign)] = &[
    (b"!<arch>\n", Foreign::Archive),
    (b"!<thin>\n", Foreign::Archive),
    (b"\x1f\x8b", Foreign::Compressed("gzip")),
    (b"BZh", Foreign::Compressed("bzip2")),
    (b"\xfd7zXZ\0", Foreign::Compressed("xz")),
    (b"\x28\xb5\x2f\xfd", Foreign::Compressed("zstd")),
    (b"PK\x03\x04", Foreign::Compressed("zip")),
    (b"MZ", Foreign::OtherCode("a program for Windows")),
    (b"\xcf\xfa\xed\xfe", Foreign::OtherCode("a program for macOS")),
    (b"\xca\xfe\xba\xbe", Foreign::OtherCode("a program for macOS or a Java class")),
    (b"\0asm", Foreign::OtherCode("WebAssembly")),
    (b"BC\xc0\xde", Foreign::OtherCode("LLVM bitcode")),
];

/// How many bytes tell text from other things.
const LOOKED_AT: usize = 512;

impl Foreign {
    /// What these bytes are, which do not begin as ELF does.
    pub(crate) fn of(data: &[u8]) -> Self {
        if data.is_empty() {
            return Self::Empty;
        }
        if let Some(line) = data.strip_prefix(b"#!") {
            let line = line.get(..line.len().min(256)).unwrap_or_default();
            let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
            return Self::Script(String::from_utf8_lossy(line).trim().to_owned());
        }
        if let Some((_, known)) = MAGIC.iter().find(|(magic, _)| data.starts_with(magic)) {
            return known.clone();
        }
        let head = data.get(..data.len().min(LOOKED_AT)).unwrap_or_default();
        let is_text = head.iter().all(|&byte| byte >= b' ' && byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c));
        if is_text { Self::Text } else { Self::Unknown }
    }
}
