//! Numbers and layouts of `include/uapi/linux/ublk_cmd.h`, Linux 6.4 and newer: before, commands had
//! other numbers.

/// The character device that makes devices.
pub(super) const CONTROL: &str = "/dev/ublk-control";

/// Sizes of `struct ublksrv_ctrl_cmd` and `struct ublksrv_io_cmd`.
const CONTROL_BYTES: u32 = 32;
const IO_BYTES: u32 = 16;

/// `_IOC` of `include/uapi/asm-generic/ioctl.h` with the type `u`.
const fn command(direction: u32, bytes: u32, number: u32) -> u32 {
    direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

const fn reads(number: u32) -> u32 {
    command(2, CONTROL_BYTES, number)
}

const fn writes(number: u32) -> u32 {
    command(3, CONTROL_BYTES, number)
}

pub(super) const GET_DEV_INFO: u32 = reads(0x02);
pub(super) const ADD_DEV: u32 = writes(0x04);
pub(super) const DEL_DEV: u32 = writes(0x05);
pub(super) const START_DEV: u32 = writes(0x06);
pub(super) const STOP_DEV: u32 = writes(0x07);
pub(super) const SET_PARAMS: u32 = writes(0x08);
pub(super) const START_USER_RECOVERY: u32 = writes(0x10);
pub(super) const END_USER_RECOVERY: u32 = writes(0x11);
/// Linux 6.9 and newer.
pub(super) const DEL_DEV_ASYNC: u32 = reads(0x14);

pub(super) const FETCH_REQ: u32 = command(3, IO_BYTES, 0x20);
pub(super) const COMMIT_AND_FETCH_REQ: u32 = command(3, IO_BYTES, 0x21);

/// The device waits for another server when this one ends; requests without a reply are repeated.
pub(super) const USER_RECOVERY: u64 = 1 << 3;
pub(super) const USER_RECOVERY_REISSUE: u64 = 1 << 4;
/// Commands are encoded as here.
pub(super) const CMD_IOCTL_ENCODE: u64 = 1 << 6;

/// `UBLK_S_DEV_LIVE`: the device is served. `UBLK_S_DEV_QUIESCED`: it waits for a server.
pub(super) const LIVE: u16 = 1;
pub(super) const QUIESCED: u16 = 2;

/// The largest depth of a queue, which determines the place of its descriptors.
const MAX_DEPTH: usize = 4096;
/// The offset between the descriptors of two queues in the character device, before it is rounded
/// up to pages.
pub(super) const DESCRIPTORS_STRIDE: usize = MAX_DEPTH * size_of::<Descriptor>();

/// Operations of a request.
pub(super) const READ: u8 = 0;
pub(super) const WRITE: u8 = 1;
pub(super) const FLUSH: u8 = 2;
pub(super) const DISCARD: u8 = 3;

/// `struct ublksrv_ctrl_dev_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Info {
    pub(super) queues: u16,
    pub(super) depth: u16,
    pub(super) state: u16,
    pub(super) pad0: u16,
    pub(super) buffer_bytes: u32,
    pub(super) id: u32,
    pub(super) server: i32,
    pub(super) pad1: u32,
    pub(super) flags: u64,
    pub(super) server_flags: u64,
    pub(super) owner: [u32; 2],
    pub(super) reserved: [u64; 2],
}

/// `struct ublk_params` with its first two parts.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parameters {
    pub(super) len: u32,
    pub(super) types: u32,
    pub(super) attributes: u32,
    pub(super) logical_block_shift: u8,
    pub(super) physical_block_shift: u8,
    pub(super) io_opt_shift: u8,
    pub(super) io_min_shift: u8,
    pub(super) max_sectors: u32,
    pub(super) chunk_sectors: u32,
    pub(super) sectors: u64,
    pub(super) virtual_boundary: u64,
    pub(super) discard_alignment: u32,
    pub(super) discard_granularity: u32,
    pub(super) max_discard_sectors: u32,
    pub(super) max_write_zeroes_sectors: u32,
    pub(super) max_discard_segments: u16,
    pub(super) reserved: u16,
}

/// `UBLK_PARAM_TYPE_BASIC` and `UBLK_PARAM_TYPE_DISCARD`.
pub(super) const BASIC_AND_DISCARD: u32 = 1 | 2;

/// `struct ublksrv_io_desc`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) operation: u32,
    pub(super) sectors: u32,
    pub(super) start: u64,
    pub(super) address: u64,
}

/// `struct ublksrv_io_cmd`.
pub(super) fn io_command(queue: u16, tag: u16, result: i32, address: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&queue.to_ne_bytes());
    bytes[2..4].copy_from_slice(&tag.to_ne_bytes());
    bytes[4..8].copy_from_slice(&result.to_ne_bytes());
    bytes[8..].copy_from_slice(&address.to_ne_bytes());
    bytes
}

/// `struct ublksrv_ctrl_cmd`, for no single queue, in the place of an `io_uring` command.
pub(super) fn control_command(device: u32, address: u64, length: usize, data: u64) -> [u8; 80] {
    let mut bytes = [0; 80];
    bytes[..4].copy_from_slice(&device.to_ne_bytes());
    bytes[4..6].copy_from_slice(&u16::MAX.to_ne_bytes());
    bytes[6..8].copy_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_ne_bytes());
    bytes[8..16].copy_from_slice(&address.to_ne_bytes());
    bytes[16..24].copy_from_slice(&data.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_and_numbers_are_those_of_the_header() {
        assert_eq!((size_of::<Info>(), size_of::<Parameters>()), (64, 64));
        assert_eq!((size_of::<Descriptor>(), DESCRIPTORS_STRIDE), (24, 98_304));
        assert_eq!(ADD_DEV, 0xc020_7504);
        assert_eq!(GET_DEV_INFO, 0x8020_7502);
        assert_eq!(FETCH_REQ, 0xc010_7520);
    }
}
