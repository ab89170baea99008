//! Who is asked next: the list, exclusions, and names with their addresses.

use std::{
    collections::{BTreeMap, HashMap},
    env,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_inputs::open_regular;
use quiclab_units::{Duration, ShowPath};

use super::{
    hooks::SurveyHooks,
    settings::{AddressChoice, TargetSettings},
};
use crate::targets::{
    Counts, DEFAULT_PORT, Excluded, Exclusions, Host, List, ListError, ListHash, Name, Target,
    exclusions::Origin,
    resolve::{Answer, Client, Settings},
};

/// Lines that cannot be read and are reported one by one.
const MOST_REPORTED: u64 = 10;
/// The port of DNS.
const DNS: u16 = 53;

/// One handshake that is to be performed.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its line of the list.
    pub line: u64,
    /// The target as a reader would write it.
    pub target: String,
    /// Its rank in the list, where that has one.
    pub rank: Option<u64>,
    /// The name to ask for.
    pub name: Option<Name>,
    /// The server.
    pub address: SocketAddr,
}

/// What comes next.
pub enum Next {
    /// Somebody to ask.
    Ask(Job),
    /// A target that is not asked: its line, what it is, and why in a word and in a sentence.
    Leave { line: u64, target: String, outcome: String, detail: String },
}

/// The list with everything that is known of its targets.
pub struct Whom<'a> {
    list: List<BufReader<File>>,
    exclusions: Exclusions,
    /// Opened for the first name: who has addresses only needs none.
    resolver: Option<Client>,
    resolves: bool,
    settings: &'a TargetSettings,
    hooks: &'a dyn SurveyHooks,
    /// Targets whose names are being resolved, by the resolver's number.
    lookups: HashMap<u64, Target>,
    reported: u64,
}

/// Where the list is: standard input is copied into the folder of the scan, so that the scan can be continued.
///
/// # Errors
/// Where it cannot be copied.
pub fn list_file(list: &Path, folder: &Path, hooks: &dyn SurveyHooks) -> Result<PathBuf> {
    if list != Path::new("-") {
        return Ok(list.to_owned());
    }
    let path = folder.join("targets");
    // Another scan may be reading the file of this name: it keeps its own until it finds that the folder is in use.
    let new = folder.join(format!("targets.{}", std::process::id()));
    let copy = || {
        // Nothing else is under way: a signal need not wait for who writes.
        let _reading = hooks.reading();
        let mut file = File::create(&new)?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        fs::rename(&new, &path)
    };
    copy().inspect_err(|_| _ = fs::remove_file(&new)).with_context(|| path.shown().to_string())?;
    Ok(path)
}

/// What a journal is bound to.
///
/// # Errors
/// Where the list cannot be read.
pub fn hash(list: &Path) -> Result<ListHash> {
    ListHash::of(open(list)?).with_context(|| list.shown().to_string())
}

/// The handshakes with these addresses, each with its line of the list. The port is that of the list, also where a name's HTTPS record
/// had another one.
///
/// # Errors
/// Where the list cannot be read.
pub fn jobs_at(list: &Path, asked: impl Iterator<Item = (u64, IpAddr)>) -> Result<Vec<Job>> {
    let mut addresses: BTreeMap<u64, Vec<IpAddr>> = BTreeMap::new();
    asked.for_each(|(line, address)| addresses.entry(line).or_default().push(address));
    let mut jobs = Vec::new();
    if addresses.is_empty() {
        return Ok(jobs);
    }
    for target in List::new(BufReader::new(open(list)?)) {
        match target {
            Ok(target) => {
                let addresses = addresses.remove(&target.line).unwrap_or_default();
                jobs.extend(addresses.into_iter().map(|address| job(&target, address, target.port())));
            }
            Err(error @ ListError::Read { .. }) => return Err(error.into()),
            Err(ListError::Line(_)) => {}
        }
        if addresses.is_empty() {
            break;
        }
    }
    Ok(jobs)
}

/// Every exclusion that was ever configured: the user's file and those that are named.
///
/// # Errors
/// Where one of them cannot be read whole: then nobody may be asked.
pub fn exclusions(settings: &TargetSettings, hooks: &dyn SurveyHooks) -> Result<Exclusions> {
    let mut exclusions = Exclusions::default();
    let own = config_folder()?.join("quiclab/scan-exclude.txt");
    add_if_there(&mut exclusions, &own)?;
    for file in &settings.exclude {
        // It may come through a pipe, which a signal has to end.
        exclusions.add_file(&file.shown().to_string(), &hooks.read_list(file)?[..])?;
    }
    Ok(exclusions)
}

/// Adds a file that need not exist.
///
/// # Errors
/// Where it exists, or may exist, and cannot be read: behind a symbolic link to nowhere, in a folder that cannot be searched.
pub fn add_if_there(exclusions: &mut Exclusions, file: &Path) -> Result<()> {
    match open_regular(file) {
        Ok(opened) => _ = exclusions.add_file(&file.shown().to_string(), BufReader::new(opened))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(link) = file.ancestors().find(|path| leads_nowhere(path)) {
                bail!(
                    "{}: found a symbolic link to nowhere, expected a file of exclusions at {}\nhint: create what it leads to, or remove it",
                    link.shown(),
                    file.shown()
                );
            }
        }
        Err(error) => {
            let text = format!(
                "{}: cannot be opened, so who is excluded is not known\nhint: nobody is asked until it can be read, or does not exist",
                file.shown()
            );
            return Err(error).context(text);
        }
    }
    Ok(())
}

/// Whether a path is a symbolic link whose end does not exist.
fn leads_nowhere(path: &Path) -> bool {
    path.is_symlink() && matches!(fs::metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// The user's folder of configuration by the XDG Base Directory Specification.
///
/// # Errors
/// Where the environment names none: a scan that cannot find the user's exclusions must not take that for none.
fn config_folder() -> Result<PathBuf> {
    let from = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = from("XDG_CONFIG_HOME").or_else(|| Some(from("HOME")?.join(".config")));
    folder.context(
        "the folder of scan-exclude.txt is not known: found neither XDG_CONFIG_HOME nor HOME in the environment\nhint: set HOME, as a login does",
    )
}

fn open(file: &Path) -> Result<File> {
    open_regular(file).with_context(|| format!("{}: cannot be opened", file.shown()))
}

impl<'a> Whom<'a> {
    /// Reads a list from its beginning.
    ///
    /// # Errors
    /// A list that cannot be opened.
    pub fn new(
        list: &Path,
        exclusions: Exclusions,
        settings: &'a TargetSettings,
        hooks: &'a dyn SurveyHooks,
    ) -> Result<Self> {
        let list = List::new(BufReader::new(open(list)?));
        let lookups = HashMap::new();
        Ok(Whom { list, exclusions, resolver: None, resolves: false, settings, hooks, lookups, reported: 0 })
    }

    /// Resolves names from now on.
    pub fn resolve(&mut self) {
        self.resolves = true;
    }

    fn open_resolver(&self) -> Result<Client> {
        let server = match self.settings.resolver {
            Some(server) => server,
            None => system_resolver()?,
        };
        let TargetSettings { addresses, https_records: https, .. } = *self.settings;
        let (v4, v6) = (addresses != AddressChoice::V6, addresses != AddressChoice::V4);
        let settings = Settings { v4, v6, https, ..Settings::default() };
        Client::new(server, settings).with_context(|| format!("the resolver {server}\nhint: --resolver ADDRESS:PORT"))
    }

    /// Exclusions, which may grow.
    pub fn exclusions(&mut self) -> &mut Exclusions {
        &mut self.exclusions
    }

    /// Lines of the list that were read, and those that were no targets.
    pub fn counts(&self) -> Counts {
        self.list.counts()
    }

    /// Whether names are being resolved, and how many.
    pub fn pending(&self) -> usize {
        self.lookups.len()
    }

    /// The next target of the list; `None` at its end. A name goes to the resolver, so that nothing may come of it yet.
    ///
    /// # Errors
    /// Where the list cannot be read on.
    pub fn read(&mut self, has_begun: impl Fn(u64) -> bool) -> Result<Option<Vec<Next>>> {
        let target = match self.list.next() {
            None => {
                self.report_rest();
                return Ok(None);
            }
            Some(Ok(target)) => target,
            Some(Err(ListError::Line(line))) => {
                self.reported += 1;
                if self.reported <= MOST_REPORTED {
                    self.hooks.status(&format!("warning: {line}"));
                }
                return Ok(Some(Vec::new()));
            }
            Some(Err(error)) => return Err(error.into()),
        };
        if let Some(excluded) = self.exclusions.host(&target.host) {
            return Ok(Some(if has_begun(target.line) { Vec::new() } else { vec![left_out(&target, &excluded)] }));
        }
        match (target.host.address(), target.host.name()) {
            (Some(address), _) => Ok(Some(vec![Next::Ask(job(&target, address, target.port()))])),
            (None, Some(name)) => {
                // A name whose addresses were asked before is not resolved again.
                if self.resolves && !has_begun(target.line) {
                    let resolver = match self.resolver.take() {
                        Some(resolver) => resolver,
                        None => self.open_resolver()?,
                    };
                    let lookup = self.resolver.insert(resolver).ask(name.clone());
                    self.lookups.insert(lookup, target);
                }
                Ok(Some(Vec::new()))
            }
            (None, None) => Ok(Some(Vec::new())),
        }
    }

    /// The next target, without resolving its name: whether there is one, and what is known of it. `None` at the end of the list.
    ///
    /// # Errors
    /// Where the list cannot be read on.
    pub fn read_dry(&mut self) -> Result<Option<(bool, Option<Next>)>> {
        let before = self.list.counts().targets;
        let next = self.read(|_| false)?;
        Ok(next.map(|next| (self.list.counts().targets > before, next.into_iter().next())))
    }

    /// Targets of the rest of the list.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn count(&mut self) -> Result<u64> {
        for target in self.list.by_ref() {
            if let Err(error @ ListError::Read { .. }) = target {
                return Err(error.into());
            }
        }
        Ok(self.list.counts().targets)
    }

    /// What the resolver has found, after at most this time.
    ///
    /// # Errors
    /// Where the kernel cannot wait.
    pub fn poll(&mut self, wait: Duration) -> Result<Vec<Next>> {
        let Some(resolver) = self.resolver.as_mut().filter(|_| !self.lookups.is_empty()) else { return Ok(Vec::new()) };
        let answers =
            resolver.poll(std::time::Duration::from_nanos(wait.as_nanos())).context("the resolver's socket")?;
        Ok(answers.into_iter().flat_map(|answer| self.resolved(&answer)).collect())
    }

    fn resolved(&mut self, answer: &Answer) -> Vec<Next> {
        let Some(target) = self.lookups.remove(&answer.lookup) else { return Vec::new() };
        let addresses = match answer.result() {
            Ok(addresses) => addresses,
            Err(failure) => {
                let (line, target) = (target.line, shown(&target));
                // A handshake can time out too.
                let outcome = format!("name_{}", failure.name());
                return vec![Next::Leave { line, target, outcome, detail: failure.to_string() }];
            }
        };
        let service = answer.https.iter().filter(|record| record.priority > 0 && record.is_understood);
        let port = service.min_by_key(|record| record.priority).and_then(|record| record.port);
        let port = target.port.or(port).unwrap_or(DEFAULT_PORT);
        let mut next = Vec::new();
        for address in chosen(addresses, self.settings.addresses) {
            next.push(match self.exclusions.address(address, Origin::Resolver) {
                Some(excluded) => left_out(&target, &excluded),
                None => Next::Ask(job(&target, address, port)),
            });
        }
        if next.is_empty() {
            let (line, target) = (target.line, shown(&target));
            let detail = "the name has no address of the kind asked for".to_owned();
            next.push(Next::Leave { line, target, outcome: "name_no_address".to_owned(), detail });
        }
        next
    }

    fn report_rest(&mut self) {
        if self.reported > MOST_REPORTED {
            let more = self.reported - MOST_REPORTED;
            self.hooks.status(&format!("warning: {more} more lines of the list could not be read"));
        }
        self.reported = 0;
    }
}

fn chosen(addresses: &[IpAddr], which: AddressChoice) -> Vec<IpAddr> {
    let first = |is_wanted: fn(&IpAddr) -> bool| addresses.iter().copied().find(is_wanted);
    match which {
        AddressChoice::All => addresses.to_vec(),
        AddressChoice::First => first(IpAddr::is_ipv4).or_else(|| first(IpAddr::is_ipv6)).into_iter().collect(),
        AddressChoice::V4 => first(IpAddr::is_ipv4).into_iter().collect(),
        AddressChoice::V6 => first(IpAddr::is_ipv6).into_iter().collect(),
    }
}

fn job(target: &Target, address: IpAddr, port: u16) -> Job {
    let address = SocketAddr::new(address, port);
    Job { line: target.line, target: shown(target), rank: target.rank, name: target.host.name().cloned(), address }
}

fn left_out(target: &Target, excluded: &Excluded) -> Next {
    let detail = format!("{}: {}", excluded.entry, excluded.source);
    Next::Leave { line: target.line, target: shown(target), outcome: "excluded".to_owned(), detail }
}

fn shown(target: &Target) -> String {
    let host = match &target.host {
        Host::Name(name) | Host::Both(name, _) => name.to_string(),
        Host::Address(address) => address.to_string(),
    };
    match target.port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

/// The first name server of resolv.conf(5).
fn system_resolver() -> Result<SocketAddr> {
    const FILE: &str = "/etc/resolv.conf";
    let mut text = String::new();
    let opened = File::open(FILE).and_then(|file| BufReader::new(file.take(1 << 16)).read_to_string(&mut text));
    opened.context(FILE)?;
    let server = text.as_bytes().lines().map_while(Result::ok).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse::<IpAddr>().ok())?
    });
    match server {
        Some(address) => Ok(SocketAddr::new(address, DNS)),
        None => bail!("{FILE} has no name server, and names have to be resolved\nhint: --resolver ADDRESS:PORT"),
    }
}

/// Makes the folder of a scan.
///
/// # Errors
/// Where it cannot be made.
pub fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.shown().to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn error_of(file: &Path) -> String {
        let error = add_if_there(&mut Exclusions::default(), file).expect_err("an error");
        format!("{error:#}")
    }

    #[test]
    fn exclusions_that_may_exist_and_cannot_be_read_are_an_error_that_names_them() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("quiclab");
        let file = folder.join("scan-exclude.txt");
        let shown = |path: &Path| path.shown().to_string();
        add_if_there(&mut Exclusions::default(), &file).expect("without a folder there is none");
        symlink(scratch.path().join("gone"), &folder).unwrap();
        let error = error_of(&file);
        assert!(error.starts_with(&shown(&folder)) && error.contains("link to nowhere"), "the folder: {error}");
        fs::remove_file(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        add_if_there(&mut Exclusions::default(), &file).expect("without a file there is none");
        symlink("elsewhere.txt", &file).unwrap();
        let error = error_of(&file);
        assert!(error.starts_with(&shown(&file)) && error.contains("hint:"), "the file: {error}");
        fs::write(folder.join("elsewhere.txt"), "8.8.8.0/24\n").unwrap();
        let mut exclusions = Exclusions::default();
        add_if_there(&mut exclusions, &file).expect("the link leads somewhere");
        assert_eq!(exclusions.entries().count(), 1);
        fs::remove_file(&file).unwrap();
        symlink(&file, &file).unwrap();
        assert!(error_of(&file).starts_with(&shown(&file)), "a loop");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(error_of(&file).contains(&shown(&file)), "a folder");
        fs::remove_dir(&file).unwrap();
        fs::remove_file(folder.join("elsewhere.txt")).unwrap();
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert!(error_of(&file).starts_with(&shown(&file)), "below a file");
    }
}
