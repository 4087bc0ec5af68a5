//! `FrameTimelineEvent`: expected and actual frames of apps.

use std::collections::HashMap;

use super::wire::{Fields, Malformed, Small};
use crate::clock::Timestamp;
use crate::tracefs::frames::{Frame, Jank};

/// Joins beginnings and ends of frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// Frames that have not ended, by cookie: expected ones by their process and token.
    open: HashMap<u64, Open>,
    /// The deadlines of frames, by process and token.
    deadlines: HashMap<(u32, i64), Timestamp>,
    frames: Vec<Frame>,
}

#[derive(Debug)]
enum Open {
    Expected(u32, i64),
    Actual(Frame),
}

/// The most frames that are kept: those of four hours at 120 Hz.
const MOST: usize = 2_000_000;

/// `FrameTimelineEvent.PRESENT_DROPPED`.
const DROPPED: u64 = 4;

impl FrameReader {
    /// Adds an event.
    pub(super) fn add(&mut self, at: Timestamp, message: &[u8]) -> Result<(), Malformed> {
        for field in Fields::of(message) {
            let (event, value) = field?;
            match event {
                3 => {
                    let start = Small::of(value.bytes()?)?;
                    let frame = (start.number(4) as u32, start.number(2).cast_signed());
                    self.begin(start.number(1), Open::Expected(frame.0, frame.1));
                }
                4 => {
                    let (cookie, frame) = actual(at, value.bytes()?)?;
                    self.begin(cookie, Open::Actual(frame));
                }
                5 => self.end(Small::of(value.bytes()?)?.number(1), at),
                _ => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, cookie: u64, open: Open) {
        if self.open.len() + self.frames.len() < MOST {
            self.open.insert(cookie, open);
        }
    }

    fn end(&mut self, cookie: u64, at: Timestamp) {
        match self.open.remove(&cookie) {
            Some(Open::Expected(process, token)) => {
                self.deadlines.insert((process, token), at);
            }
            Some(Open::Actual(frame)) => {
                self.frames.push(Frame { to: at.max(frame.from), ..frame });
            }
            None => {}
        }
    }

    /// All frames that have ended, in order of their beginnings.
    pub(super) fn finish(mut self) -> Vec<Frame> {
        for frame in &mut self.frames {
            frame.deadline = self.deadlines.get(&(frame.process, frame.token)).copied();
        }
        self.frames.sort_by_key(|frame| frame.from);
        self.frames
    }
}

/// The cookie and the frame of an `ActualSurfaceFrameStart`.
fn actual(at: Timestamp, message: &[u8]) -> Result<(u64, Frame), Malformed> {
    let start = Small::of(message)?;
    let mut jank = 0;
    for field in Fields::of(message) {
        if let (9, value) = field? {
            jank = value.number()? as u32;
        }
    }
    let frame = Frame {
        token: start.number(2).cast_signed(),
        process: start.number(4) as u32,
        from: at,
        to: at,
        deadline: None,
        jank: Jank(jank),
        is_dropped: start.number(6) == DROPPED,
    };
    Ok((start.number(1), frame))
}
