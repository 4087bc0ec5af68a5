//! Headings and ids of a record's sections in the page.

use maud::{Markup, html};

/// Headings and ids of a record's sections in the page.
pub(super) struct Outline {
    /// The level of its sections' headings.
    pub(super) level: u8,
    /// The prefix of its sections' ids.
    pub(super) prefix: String,
}

impl Outline {
    /// A section with a heading.
    pub(super) fn section(&self, id: &str, heading: &Markup, body: &Markup) -> Markup {
        html! {
            section id={ (self.prefix) (id) } {
                @match self.level {
                    2 => h2 { (heading) },
                    _ => h3 { (heading) },
                }
                (body)
            }
        }
    }

    /// A heading within a section.
    pub(super) fn subheading(&self, heading: &str) -> Markup {
        html! {
            @match self.level {
                2 => h3 { (heading) },
                _ => h4 { (heading) },
            }
        }
    }
}
