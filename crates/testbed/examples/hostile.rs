//! A program that takes the place of a stack without sockets and does what it must not: the tests in `src/sim/hostile.rs` start it.
//!
//! Its first argument says what it does. What it could do, it says on standard error, and ends with 3; what it could not, too, and ends with 4.

use std::{
    env, fs,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::unix::net::UnixDatagram,
    process::{Command, exit},
    thread,
    time::Duration,
};

/// No time.
const NEVER: u64 = u64::MAX;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mode, arguments @ ..] = &arguments[..] else { panic!("no mode") };
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    match mode.as_str() {
        // Protocol.
        "quiet" => serve(|_| Some(answer(0, NEVER, &[]))),
        "now" => serve(|now| Some(answer(0, now, &[]))),
        "past" => serve(|_| Some(answer(0, 0, &[]))),
        "soon" => serve(|now| Some(answer(0, now + 1, &[]))),
        "flood" => serve(|now| Some(answer(0, now + 1, &[(1_200, 60_000); 250]))),
        "tiny" => serve(|now| Some(answer(0, now + 1, &[(1, 128); 256]))),
        "segments" => serve(|now| Some(answer(0, now + 1, &[(1, 60_000)]))),
        "long" => serve(|_| Some(vec![0xff; 4])),
        "short" => serve(|_| Some(vec![100, 0, 0, 0, 1])),
        "count" => serve(|_| {
            let mut bytes = answer(0, NEVER, &[]);
            bytes[13..15].copy_from_slice(&u16::MAX.to_le_bytes());
            Some(bytes)
        }),
        "endless" => serve(|_| {
            let _ = io::stdout().write_all(&(16u32 << 20).to_le_bytes());
            loop {
                let _ = io::stdout().write_all(&[0; 1 << 16]);
            }
        }),
        "drip" => serve(|_| {
            thread::sleep(Duration::from_millis(200));
            Some(answer(0, NEVER - 1, &[]))
        }),
        "slow" => serve(|now| {
            thread::sleep(Duration::from_millis(50));
            Some(answer(0, now + 1_000, &[]))
        }),
        // The machine.
        "stubborn" => {
            // SAFETY: ignoring signals.
            unsafe {
                for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
                    libc::signal(signal, libc::SIG_IGN);
                }
            }
            loop {
                thread::sleep(Duration::from_secs(1_000));
            }
        }
        "abort" => std::process::abort(),
        "allocate" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            while all.len() < 256 {
                let mut more = Vec::new();
                if let Err(error) = more.try_reserve_exact(64 << 20) {
                    done(Err(format!("after {} MiB: {error}", all.len() * 64)));
                }
                all.push(more);
            }
            done(Ok(()));
        }
        "memfd" => {
            // SAFETY: a live string.
            let file = unsafe { libc::memfd_create(c"memory".as_ptr(), 0) };
            done(if file < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        "fork" => done(tried(Command::new("/bin/sh").args(["-c", "sleep 1000"]).spawn())),
        "daemon" => {
            // SAFETY: system calls alone.
            let result = unsafe { libc::setsid() };
            done(if result < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        "threads" => {
            let mut count = 0;
            loop {
                let started =
                    thread::Builder::new().stack_size(16 << 10).spawn(|| thread::sleep(Duration::from_secs(1_000)));
                if let Err(error) = started {
                    done(Err(format!("after {count}: {error}")));
                }
                count += 1;
                if count > 5_000 {
                    done(Ok(()));
                }
            }
        }
        "read" => {
            let mut byte = [0];
            done(tried(fs::File::open(first).and_then(|mut file| file.read_exact(&mut byte))));
        }
        "list" => done(tried(
            fs::read_dir(first)
                .map(Iterator::count)
                .and_then(|count| if count > 0 { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }),
        )),
        "write" => done(tried(fs::write(first, "forged"))),
        "link" => done(tried(std::os::unix::fs::symlink(first, format!("{}/keys.log", env::var("LOGS").unwrap())))),
        "kill" => {
            let id = first.parse().unwrap();
            // SAFETY: a system call.
            let result = unsafe { libc::kill(id, libc::SIGKILL) };
            done(if result < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        "udp" => done(tried(UdpSocket::bind("127.0.0.1:0"))),
        "tcp" => done(tried(TcpStream::connect(first))),
        "listen" => done(tried(TcpListener::bind("127.0.0.1:0"))),
        "unix" => done(tried(UnixDatagram::unbound())),
        // A system call by its number, with zeros for arguments.
        "call" => {
            let number: libc::c_long = first.parse().unwrap();
            // SAFETY: the tests choose calls that write nothing where a pointer is zero.
            let result = unsafe { libc::syscall(number, 0, 0, 0, 0, 0, 0) };
            done(if result < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        // Memory that somebody shares under this number.
        "attach" => {
            let key: libc::key_t = first.parse().unwrap();
            // SAFETY: a system call.
            let result = unsafe { libc::shmget(key, 0, 0) };
            done(if result < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        // Characters for the terminal of whoever started it.
        "type" => {
            // SAFETY: a live byte.
            let result = unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) };
            done(if result < 0 { Err(io::Error::last_os_error().to_string()) } else { Ok(()) });
        }
        "open" => {
            let mut all = Vec::new();
            loop {
                match fs::File::open("/dev/null") {
                    Ok(_) if all.len() > 5_000 => done(Ok(())),
                    Ok(file) => all.push(file),
                    Err(error) => done(Err(format!("after {}: {error}", all.len()))),
                }
            }
        }
        // More bytes in a file than a test allows.
        "grow" => {
            // SAFETY: ignoring a signal, so that the error shows.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
            done(tried(fs::write(format!("{}/long", env::var("LOGS").unwrap()), vec![0; 2 << 20])));
        }
        "files" => {
            for number in 0..20_000 {
                let _ = fs::write(format!("{}/{number}", env::var("LOGS").unwrap()), "");
            }
            thread::sleep(Duration::from_secs(1_000));
        }
        "sparse" => {
            for number in 0..3 {
                let file = fs::File::create(format!("{}/{number}", env::var("LOGS").unwrap())).unwrap();
                file.set_len(1 << 30).unwrap();
            }
            thread::sleep(Duration::from_secs(1_000));
        }
        other => panic!("{other}: no such mode"),
    }
}

/// Answers each order until there is none.
fn serve(mut answers: impl FnMut(u64) -> Option<Vec<u8>>) {
    let (mut input, mut output) = (io::stdin(), io::stdout());
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut order = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut order).unwrap();
        let now = u64::from_le_bytes(order[..8].try_into().unwrap());
        let Some(bytes) = answers(now) else { return };
        if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// An answer with buffers of so many bytes in datagrams of this length.
fn answer(state: u8, next: u64, buffers: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.push(state);
    bytes.extend(next.to_le_bytes());
    bytes.extend((buffers.len() as u16).to_le_bytes());
    for (segment, length) in buffers {
        bytes.push(0);
        bytes.extend(segment.to_le_bytes());
        bytes.extend(NEVER.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.resize(bytes.len() + *length as usize, 7);
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn tried<T>(result: io::Result<T>) -> Result<(), String> {
    result.map(|_| ()).map_err(|error| error.to_string())
}

fn done(result: Result<(), String>) -> ! {
    match &result {
        Ok(()) => eprintln!("it was possible"),
        Err(error) => eprintln!("it was not possible: {error}"),
    }
    exit(if result.is_ok() { 3 } else { 4 })
}
