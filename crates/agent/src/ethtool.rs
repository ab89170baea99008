//! Offload settings of an interface, by the ethtool ioctl.

use std::{ffi::CString, io, os::fd::AsRawFd};

use anyhow::{Context, Result};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use quiclab_agent_protocol::report::Offloads;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETH_SS_FEATURES: u32 = 4;
const ETH_GSTRING_LEN: usize = 32;
/// Most features that there is room for, more than any kernel has; the tables below are sized by it.
const MAX_FEATURES: usize = 256;
const MAX_BLOCKS: usize = MAX_FEATURES / 32;
const UDP_SEGMENTATION: &str = "tx-udp-segmentation";

/// What an interface does with super-packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segmentation {
    /// It carries none.
    Off,
    /// It carries those of TCP and UDP.
    On,
    /// The same, and puts packets together that come in.
    OnAndReceive,
}

/// Switches on what `segmentation` says, and says what is set then.
///
/// # Errors
/// Where the interface is not there or refuses.
pub fn set_segmentation(interface: &str, segmentation: Segmentation) -> Result<Offloads> {
    if segmentation == Segmentation::Off {
        return switch_segmentation_off(interface);
    }
    let ethtool = Ethtool::open(interface)?;
    ethtool.set_value(ETHTOOL_SGSO, 1).context("gso on")?;
    ethtool.set_value(ETHTOOL_STSO, 1).context("tso on")?;
    if let Some(index) = ethtool.feature_index(UDP_SEGMENTATION)? {
        ethtool.set_feature(index, true).context("tx-udp-segmentation on")?;
    }
    if segmentation == Segmentation::OnAndReceive {
        ethtool.set_value(ETHTOOL_SGRO, 1).context("gro on")?;
    }
    ethtool.offloads()
}

/// Switches off every offload by which an interface would carry packets larger than its MTU, and says what is set then.
///
/// A veth carries GSO super-packets unsegmented, and a tap on it would see one packet where a wire has ten.
///
/// # Errors
/// Where the interface is not there or refuses.
pub fn switch_segmentation_off(interface: &str) -> Result<Offloads> {
    let ethtool = Ethtool::open(interface)?;
    ethtool.set_value(ETHTOOL_STSO, 0).context("tso off")?;
    ethtool.set_value(ETHTOOL_SGSO, 0).context("gso off")?;
    if let Some(index) = ethtool.feature_index(UDP_SEGMENTATION)? {
        ethtool.set_feature(index, false).context("tx-udp-segmentation off")?;
    }
    ethtool.offloads()
}

/// What the ioctl needs.
pub(crate) struct Ethtool {
    socket: std::os::fd::OwnedFd,
    name: CString,
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

#[repr(C)]
struct Strings {
    command: u32,
    set: u32,
    count: u32,
    data: [[u8; ETH_GSTRING_LEN]; MAX_FEATURES],
}

#[repr(C)]
struct GetFeatures {
    command: u32,
    blocks: u32,
    /// Four words for every 32 features: available, requested, active, never changed.
    features: [[u32; 4]; MAX_BLOCKS],
}

#[repr(C)]
struct SetFeatures {
    command: u32,
    blocks: u32,
    /// Two words for every 32 features: which are meant, and what they shall be.
    features: [[u32; 2]; MAX_BLOCKS],
}

impl Ethtool {
    /// Asks about an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no socket to be had.
    pub(crate) fn open(interface: &str) -> Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        Ok(Self { socket, name: CString::new(interface)? })
    }

    fn offloads(&self) -> Result<Offloads> {
        let udp_segmentation = self.feature_index(UDP_SEGMENTATION)?;
        Ok(Offloads {
            transmit_checksum: self.value(ETHTOOL_GTXCSUM)? != 0,
            tcp_segmentation: self.value(ETHTOOL_GTSO)? != 0,
            generic_segmentation: self.value(ETHTOOL_GGSO)? != 0,
            udp_segmentation: udp_segmentation.map(|index| self.feature(index)).transpose()?.unwrap_or(false),
        })
    }

    /// Makes one call.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// `data` must point to what the command in its first field expects.
    pub(crate) unsafe fn call(&self, data: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.request(SIOCETHTOOL, data) }
    }

    /// Makes another request about the interface than those of ethtool.
    ///
    /// # Errors
    /// What the driver answers.
    ///
    /// # Safety
    /// `data` must point to what the request expects.
    pub(crate) unsafe fn request(&self, request_code: libc::c_ulong, data: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: ifreq is plain data, for which all zeros is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.as_bytes_with_nul()) {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = data.cast();
        // SAFETY: the request and what it points to outlive the call.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), request_code as _, &raw mut request) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn value(&self, command: u32) -> io::Result<u32> {
        let mut value = Value { command, data: 0 };
        // SAFETY: these commands expect an ethtool_value.
        unsafe { self.call((&raw mut value).cast()) }?;
        Ok(value.data)
    }

    fn set_value(&self, command: u32, data: u32) -> io::Result<()> {
        let mut value = Value { command, data };
        // SAFETY: these commands expect an ethtool_value.
        unsafe { self.call((&raw mut value).cast()) }
    }

    fn feature_index(&self, name: &str) -> Result<Option<usize>> {
        let mut strings = Box::new(Strings {
            command: ETHTOOL_GSTRINGS,
            set: ETH_SS_FEATURES,
            count: 0,
            data: [[0; ETH_GSTRING_LEN]; MAX_FEATURES],
        });
        // SAFETY: an ethtool_gstrings with room for more strings than there are features.
        unsafe { self.call((&raw mut *strings).cast()) }.context("feature names")?;
        let position = strings.data.iter().take(strings.count as usize).position(|bytes| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(ETH_GSTRING_LEN);
            &bytes[..end] == name.as_bytes()
        });
        Ok(position)
    }

    fn feature(&self, index: usize) -> io::Result<bool> {
        let mut features =
            GetFeatures { command: ETHTOOL_GFEATURES, blocks: MAX_BLOCKS as u32, features: [[0; 4]; MAX_BLOCKS] };
        // SAFETY: an ethtool_gfeatures with as many blocks as it says.
        unsafe { self.call((&raw mut features).cast()) }?;
        Ok(features.features[index / 32][2] & (1 << (index % 32)) != 0)
    }

    fn set_feature(&self, index: usize, on: bool) -> Result<()> {
        let mut probe = GetFeatures { command: ETHTOOL_GFEATURES, blocks: 0, features: [[0; 4]; MAX_BLOCKS] };
        // SAFETY: with 0 blocks the kernel only says how many there are.
        unsafe { self.call((&raw mut probe).cast()) }?;
        let mut features =
            SetFeatures { command: ETHTOOL_SFEATURES, blocks: probe.blocks, features: [[0; 2]; MAX_BLOCKS] };
        let bit = 1 << (index % 32);
        features.features[index / 32] = [bit, if on { bit } else { 0 }];
        // SAFETY: an ethtool_sfeatures with as many blocks as the kernel has, which is fewer than there is room for.
        unsafe { self.call((&raw mut features).cast()) }?;
        Ok(())
    }
}
