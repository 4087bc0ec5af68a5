//! The plan of a probe: how much it can evict without evicting pages of other programs.

use unjank_host::machine::{SwapDevice, SwapKind, available_memory, swap};
use unjank_host::memory::page_size;
use unjank_host::{Bytes, Result, Root, Support};

use super::options::{Options, Pages};

/// The pages to evict, and their destination.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) pages: usize,
    pub(crate) page: Bytes,
    pub(crate) warnings: Vec<String>,
}

/// The kind of pages to evict, by their backing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// Anonymous pages; `device` is the one with the highest priority.
    Anonymous {
        device: SwapDevice,
    },
    File,
}

/// At most one part in this many of the available memory is used, so that the kernel has no reason
/// to evict pages of others.
const SHARE_OF_MEMORY: u64 = 8;
/// A swap device is filled to at most one part in this many. Beyond one half, the kernel frees a
/// page's slot when the page is read back (`vm_swap_full`), and the page would have to be written
/// again in each round.
const SHARE_OF_SWAP: u64 = 2;

impl Plan {
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.page.get().saturating_mul(self.pages as u64))
    }

    /// The label for the backing of the pages.
    pub(crate) fn backing(&self) -> &'static str {
        match &self.source {
            Source::File => "file",
            Source::Anonymous { device } => match device.kind {
                SwapKind::Zram => "zram",
                SwapKind::Disk => "swap-disk",
                SwapKind::RotatingDisk => "swap-rotating-disk",
                SwapKind::File => "swap-file",
            },
        }
    }
}

/// Makes the plan for this machine.
pub(crate) fn make(options: &Options, root: &Root) -> Result<Support<Plan>> {
    let devices = swap::devices(root)?;
    Ok(decide(options, &devices, available_memory(root)?, page_size()))
}

fn decide(
    options: &Options,
    devices: &[SwapDevice],
    available: Bytes,
    page: Bytes,
) -> Support<Plan> {
    let room = |device: &&SwapDevice| device.size.get() > device.used.get();
    let device = devices.iter().filter(room).max_by_key(|device| device.priority);
    let free_swap =
        |device: &SwapDevice| (device.size.get() / SHARE_OF_SWAP).saturating_sub(device.used.get());
    let memory = available.get() / SHARE_OF_MEMORY;
    let (source, limit, scarce) = match (options.pages, device) {
        (Pages::Auto | Pages::Anonymous, Some(device)) => {
            let swap = free_swap(device);
            let scarce = if swap < memory { "free swap" } else { "available memory" };
            (Source::Anonymous { device: device.clone() }, memory.min(swap), scarce)
        }
        (Pages::Anonymous, None) => {
            return Support::no(
                "no swap device is on, or all are full (/proc/swaps): swapon, or probe file \
                 pages with --pages file",
            );
        }
        (Pages::Auto | Pages::File, _) => (Source::File, memory, "available memory"),
    };
    if limit < Options::SMALLEST.get() {
        return Support::no(format!(
            "too little {scarce} to evict {} without evicting pages of other programs",
            Options::SMALLEST
        ));
    }
    let bytes = Bytes(options.size.get().min(limit));
    let warnings = (bytes < options.size)
        .then(|| {
            format!(
                "{bytes} are evicted instead of {}: a larger share of the {scarce} would push \
                 other programs out",
                options.size
            )
        })
        .into_iter()
        .collect();
    Support::Yes(Plan { source, pages: (bytes.get() / page.get()) as usize, page, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes(4096);

    fn options(pages: Pages) -> Options {
        let usual = Options::usual(unjank_host::Nanos::from_millis(100), "/tmp".into());
        Options { pages, size: Bytes::from_mib(32), ..usual }
    }

    fn device(kind: SwapKind, priority: i64, free: Bytes) -> SwapDevice {
        SwapDevice { kind, priority, size: free, ..SwapDevice::default() }
    }

    #[test]
    fn without_swap_file_pages_are_evicted() {
        let plan = decide(&options(Pages::Auto), &[], Bytes::from_mib(1024), PAGE).yes().unwrap();
        assert_eq!((plan.source, plan.pages), (Source::File, 8192));
        assert!(plan.warnings.is_empty());
        let none = decide(&options(Pages::Anonymous), &[], Bytes::from_mib(1024), PAGE);
        assert!(none.reason().unwrap().starts_with("no swap device is on"));
    }

    #[test]
    fn the_swap_device_with_the_highest_priority_is_probed() {
        let devices = [
            device(SwapKind::Disk, -2, Bytes::from_mib(4096)),
            device(SwapKind::Zram, 100, Bytes::from_mib(512)),
        ];
        let plan = decide(&options(Pages::Auto), &devices, Bytes::from_mib(2048), PAGE);
        assert_eq!(plan.yes().unwrap().backing(), "zram");
        let full = [SwapDevice { used: Bytes::from_mib(512), ..devices[1].clone() }];
        let plan = decide(&options(Pages::Auto), &full, Bytes::from_mib(2048), PAGE);
        assert_eq!(plan.yes().unwrap().backing(), "file");
    }

    #[test]
    fn the_size_is_limited_to_what_is_free() {
        let plan = decide(&options(Pages::File), &[], Bytes::from_mib(80), PAGE).yes().unwrap();
        assert_eq!(plan.bytes(), Bytes::from_mib(10));
        assert_eq!(plan.warnings.len(), 1);
        let little = [device(SwapKind::Zram, 100, Bytes::from_mib(1))];
        let none = decide(&options(Pages::Auto), &little, Bytes::from_mib(2048), PAGE);
        assert!(none.reason().unwrap().starts_with("too little free swap"));
        let none = decide(&options(Pages::File), &[], Bytes::from_mib(2), PAGE);
        assert!(none.reason().unwrap().starts_with("too little available memory"));
    }
}
