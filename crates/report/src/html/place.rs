//! Where in the page a record stands.

use maud::{Markup, html};

/// Where in the page a record stands.
pub(super) struct Place {
    /// The level of its sections' headings.
    pub(super) level: u8,
    /// What the ids of its sections begin with.
    pub(super) prefix: String,
}

impl Place {
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

    /// The heading of something within a section.
    pub(super) fn subheading(&self, heading: &str) -> Markup {
        html! {
            @match self.level {
                2 => h3 { (heading) },
                _ => h4 { (heading) },
            }
        }
    }
}
