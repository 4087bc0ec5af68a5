//! The formats of traces and their names.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Swap-outs and swap-ins of the Ariadne project, with or without the pages' contents.
    Ariadne,
    /// Text of `blkparse(1)`.
    Blkparse,
    /// Records of `blktrace(8)`.
    Blktrace,
    /// Comma-separated values with a header.
    Csv,
    /// Text of the kernel's tracer: `trace`, `trace_pipe`, `trace-cmd report`, `perf script`.
    Ftrace,
    /// `MobileBlockIOTraces`: `process,device,rw_flag,sector,size,timestamp`.
    Mobile,
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
    Msr,
    /// libCacheSim's records of 24 bytes.
    OracleGeneral,
    /// unjank's own.
    Parquet,
    /// SPC, as in the traces of `UMass`: `ASU,LBA,Size,Opcode,Timestamp`.
    Spc,
    /// SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`.
    Systor,
    /// libCacheSim's plain text: one object per line.
    Txt,
    /// `VMware`'s records of requests to a virtual disk, versions 1 and 2.
    Vscsi,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Ariadne,
        Self::Blkparse,
        Self::Blktrace,
        Self::Csv,
        Self::Ftrace,
        Self::Mobile,
        Self::Msr,
        Self::OracleGeneral,
        Self::Parquet,
        Self::Spc,
        Self::Systor,
        Self::Txt,
        Self::Vscsi,
    ];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ariadne => "ariadne",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Csv => "csv",
            Self::Ftrace => "ftrace",
            Self::Mobile => "mobile",
            Self::Msr => "msr",
            Self::OracleGeneral => "oracleGeneral",
            Self::Parquet => "parquet",
            Self::Spc => "spc",
            Self::Systor => "systor",
            Self::Txt => "txt",
            Self::Vscsi => "vscsi",
        }
    }

    /// Whether its events have times.
    pub const fn has_times(self) -> bool {
        !matches!(self, Self::Ariadne | Self::Txt)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let same = |format: &Self| format.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(same).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("unknown format {name:?}; expected one of {}", names.join(", "))
        })
    }
}
