//! Options of all commands that read traces.

use std::path::PathBuf;

use unjank_host::{Bytes, Error};
use unjank_swap::trace::{Columns, Format, Operation, Options, Stage};

use crate::{interrupt, values};

/// Options of all commands that read traces.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reading")]
pub(super) struct ReadingArgs {
    /// The traces' format [default: detected from their content]
    #[arg(long, value_name = "FORMAT", help = format_help())]
    format: Option<Format>,
    /// The columns of a table without a header: time,page,size, - for unused ones; or in
    /// libCacheSim's form: time-col=1,obj-id-col=2
    #[arg(long, value_name = "NAME,…")]
    columns: Option<Columns>,
    /// The field separator of --columns [default: detected from the first line]
    #[arg(long, value_name = "CHARACTER", requires = "columns", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Count malformed lines and records instead of ending with an error
    #[arg(long)]
    skip_bad: bool,
    /// A swap device, by its name in the trace: its reads are page-ins, its writes page-outs
    #[arg(long, value_name = "NAME")]
    swap_device: Vec<String>,
    /// The size of the device; requests beyond it are counted and left out
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    device_size: Option<Bytes>,
    /// Which stage of a request makes the event (blkparse, blktrace, ftrace)
    #[arg(long, value_enum, default_value = "auto")]
    stage: StageName,
}

impl ReadingArgs {
    /// The options for the library.
    pub(super) fn options(&self) -> Options {
        Options {
            format: self.format,
            columns: self.columns.clone().map(|columns| match self.delimiter {
                Some(delimiter) => columns.split_by(delimiter),
                None => columns,
            }),
            skip_bad: self.skip_bad,
            device_size: self.device_size,
            swap_devices: self.swap_device.clone(),
            stage: self.stage.get(),
            stop: interrupt::stop(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StageName {
    /// Issued; queued if the trace begins without any issued request
    Auto,
    /// Queued in the block layer, by the program that the trace names
    Queued,
    /// Issued to the driver
    Issued,
    /// Completed by the device
    Completed,
}

impl StageName {
    fn get(self) -> Stage {
        match self {
            Self::Auto => Stage::Auto,
            Self::Queued => Stage::Queued,
            Self::Issued => Stage::Issued,
            Self::Completed => Stage::Completed,
        }
    }
}

fn format_help() -> String {
    let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    format!("The traces' format [default: detected from their content]: {}", names.join(", "))
}

/// Parses a delimiter: one character, or `\t`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "\\t" => Ok(b'\t'),
        _ => Err("one character, such as ; or \\t".to_owned()),
    }
}

/// Rejects inputs that name stdin more than once.
pub(super) fn check_stdin(inputs: &[PathBuf]) -> Result<(), Error> {
    if inputs.iter().filter(|input| input.as_os_str() == "-").count() > 1 {
        return Err(Error::Invalid("stdin can be read only once".to_owned()));
    }
    Ok(())
}

/// Parses the name of a page operation.
pub(super) fn operation(name: &str) -> Result<Operation, String> {
    let operations = || Operation::ALL.into_iter().filter(|operation| operation.is_of_page());
    let found = operations().find(|operation| operation.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<_> = operations().map(Operation::name).collect();
        format!("unknown operation {name:?}; expected one of {}", names.join(", "))
    })
}
