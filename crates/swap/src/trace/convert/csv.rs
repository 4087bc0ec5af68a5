//! Writes comma-separated values with named columns, in the form that the reader takes.

use std::io::{self, Write};

use super::super::event::Event;
use super::super::names::Names;

/// Writes lines.
pub(super) struct Writer<W: Write> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(
            b"time_ns,process,pid,space,page,operation,backing,cgroup,launch_id,command_pid\n",
        )?;
        Ok(Self { out, line: Vec::new() })
    }

    pub(super) fn write(&mut self, events: &[Event], names: &Names) -> io::Result<()> {
        for event in events {
            let process = names.process(event.who);
            self.line.clear();
            write!(self.line, "{},", event.at.get())?;
            field(&mut self.line, &process.name);
            self.line.push(b',');
            if let Some(pid) = process.pid {
                write!(self.line, "{pid}")?;
            }
            self.line.push(b',');
            field(&mut self.line, names.space(event.space));
            let (operation, backing) = (event.operation.name(), event.backing.name());
            write!(self.line, ",{},{operation},{backing},", event.page)?;
            field(&mut self.line, process.cgroup.as_deref().unwrap_or_default());
            for number in [process.launch, process.command] {
                self.line.push(b',');
                if let Some(number) = number {
                    write!(self.line, "{number}")?;
                }
            }
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A name, in quotes where it needs them.
fn field(line: &mut Vec<u8>, name: &str) {
    if !name.contains([',', '"']) {
        line.extend_from_slice(name.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(name.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}
