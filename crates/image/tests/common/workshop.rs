//! Compiling small programs into a directory that goes away.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of test programs.
pub(crate) struct Workshop {
    directory: tempfile::TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles `source` (its file named `name.suffix`) with `compiler` and flags; returns the output's bytes.
    pub(crate) fn compile(&self, compiler: &str, name: &str, suffix: &str, source: &str, flags: &[&str]) -> Vec<u8> {
        let file = self.path(&format!("{name}.{suffix}"));
        std::fs::write(&file, source).expect("a source file");
        run(Command::new(compiler).arg(&file).arg("-o").arg(self.path(name)).args(flags));
        self.read(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the output")
    }
}

/// Runs a command that must succeed; returns what it prints.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("a command that can be started");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a tool prints of a file.
#[allow(dead_code, reason = "not every test asks a tool")]
pub(crate) fn tool(name: &str, flags: &[&str], file: &Path) -> String {
    run(Command::new(name).args(flags).arg(file))
}
