//! The anonymous pages of each process or app.

use super::{App, Pages, Process};
use crate::page::Page;

/// Anonymous pages by owner.
#[derive(Debug, Clone, Default)]
pub struct OwnedPages {
    /// The index of each owner's first page, and the total at the end.
    begins: Vec<u32>,
    pages: Vec<Page>,
}

impl OwnedPages {
    /// Groups the anonymous pages by process.
    pub fn by_process(pages: &Pages) -> Self {
        let most = pages.all().map(|page| pages.owner(page)).max().unwrap_or_default();
        Self::new(pages, most as usize + 1, |process| Some(process as usize))
    }

    /// Groups the anonymous pages by app.
    pub fn by_app(pages: &Pages, apps: &[App]) -> Self {
        let most = apps.iter().flat_map(|app| &app.processes).max().copied().unwrap_or_default();
        let mut app_of = vec![None; most as usize + 1];
        for (index, app) in apps.iter().enumerate() {
            for process in &app.processes {
                app_of[*process as usize] = Some(index);
            }
        }
        Self::new(pages, apps.len(), |process| app_of.get(process as usize).copied().flatten())
    }

    fn new(pages: &Pages, owners: usize, owner: impl Fn(Process) -> Option<usize>) -> Self {
        let anonymous = || pages.all().filter(|page| !pages.is_of_file(*page));
        let pairs = || anonymous().filter_map(|page| Some((owner(pages.owner(page))?, page)));
        let mut begins = vec![0; owners + 1];
        for (owner, _) in pairs() {
            begins[owner + 1] += 1;
        }
        for owner in 0..owners {
            begins[owner + 1] += begins[owner];
        }
        let mut next = begins.clone();
        let mut sorted = vec![Page(0); begins[owners] as usize];
        for (owner, page) in pairs() {
            sorted[next[owner] as usize] = page;
            next[owner] += 1;
        }
        Self { begins, pages: sorted }
    }

    /// The pages of one owner.
    pub fn of(&self, owner: usize) -> &[Page] {
        let ends = self.begins.get(owner).zip(self.begins.get(owner + 1));
        ends.map_or(&[], |(begin, end)| &self.pages[*begin as usize..*end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_pages_have_no_owner() {
        let pages = Pages::new(&[false, true, false, false], vec![2, 2, 1, 2]);
        let owned = OwnedPages::by_process(&pages);
        assert_eq!((owned.of(1), owned.of(2)), (&[Page(2)][..], &[Page(0), Page(3)][..]));
        assert!(owned.of(0).is_empty() && owned.of(9).is_empty());
        let apps = [App { name: "a".to_owned(), processes: vec![1, 2] }];
        assert_eq!(OwnedPages::by_app(&pages, &apps).of(0), [Page(0), Page(2), Page(3)]);
    }
}
