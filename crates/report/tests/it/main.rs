//! Whole reports on made-up records.

mod fixture;
mod hostile;
mod html;
mod markdown;
mod terminal;
mod timeline;
