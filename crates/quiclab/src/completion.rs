//! Completion in shells, also of settings: `source <(COMPLETE=bash quiclab)`.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
    path::Path,
};

use clap::{Command, CommandFactory as _};
use clap_complete::{
    CompleteEnv, CompletionCandidate,
    engine::ArgValueCompleter,
    env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh},
};
use quiclab_experiment::{setting_about, setting_keys, setting_words};

use crate::cli::{Cli, CompletionsArguments, Shell};

/// Variable of the environment by which a shell asks.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell and ends the process, where a shell asks. To be called before anything is printed.
pub fn answer() {
    CompleteEnv::with_factory(Cli::command)
        .shells(Shells(&[&BashWithEquals, &Elvish, &Fish, &Powershell, &Zsh]))
        .complete();
}

/// Prints the script that a shell reads.
///
/// # Errors
/// Where it cannot be printed.
pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<u8> {
    let shell: &dyn EnvCompleter = match arguments.shell {
        Shell::Bash => &BashWithEquals,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "quiclab", "quiclab", "quiclab", &mut script)?;
    // Scripts separate words by control characters, which output::print would replace.
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(0),
    }
}

/// Completes `KEY=VALUE`: the key of a setting, then its value where it takes words.
pub fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(candidates)
}

fn candidates(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    if let Some((key, value)) = typed.split_once('=') {
        let words = setting_words(key).into_iter().filter(|word| word.starts_with(value));
        return words.map(|word| CompletionCandidate::new(format!("{key}={word}"))).collect();
    }
    let keys = setting_keys().into_iter().filter(|key| key.starts_with(typed));
    keys.map(|key| CompletionCandidate::new(format!("{key}=")).help(setting_about(key).map(Into::into))).collect()
}

/// Bash takes `key=value` for three words. This puts them together before the question, and cuts the answers to what comes behind the `=`.
struct BashWithEquals;

const SCRIPT: &str = r#"
_quiclab_complete() {
    local IFS=$'\013' words=() index=0 i part join= prefix=
    for i in "${!COMP_WORDS[@]}"; do
        part=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && [[ $part != "=" ]] && part=$2
        if [[ -n $join || ( $part == "=" && ${#words[@]} -gt 0 ) ]]; then
            words[${#words[@]}-1]+=$part
        else
            words+=("$part")
        fi
        [[ ${COMP_WORDS[i]} == "=" ]] && join=yes || join=
        ((i == COMP_CWORD)) && index=$((${#words[@]} - 1))
    done
    [[ ${words[index]} == *=* ]] && prefix=${words[index]%=*}=
    COMPREPLY=( $(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$index" VAR=bash COMPLETER -- "${words[@]}") )
    if [[ $? != 0 ]]; then
        unset COMPREPLY
    else
        COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
        [[ ${COMPREPLY-} =~ [=/:]$ ]] || compopt +o nospace 2> /dev/null || :
    fi
}
complete -o nospace -o bashdefault -F _quiclab_complete BIN
"#;

impl EnvCompleter for BashWithEquals {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(&self, var: &str, _: &str, bin: &str, completer: &str, to: &mut dyn Write) -> io::Result<()> {
        let quoted = format!("'{}'", completer.replace('\'', r"'\''"));
        to.write_all(SCRIPT.replace("COMPLETER", &quoted).replace("BIN", bin).replace("VAR", var).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<OsString>,
        folder: Option<&Path>,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        Bash.write_complete(command, arguments, folder, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(typed: &str) -> Vec<String> {
        candidates(OsStr::new(typed)).iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn keys_are_completed_up_to_the_equals_sign() {
        assert_eq!(completed("vm.th"), ["vm.theft_length=", "vm.theft_interval=", "vm.theft_distribution="]);
        assert_eq!(completed(""), setting_keys().iter().map(|key| format!("{key}=")).collect::<Vec<_>>());
        assert_eq!(completed("no.such"), [""; 0]);
    }

    #[test]
    fn values_are_completed_where_they_are_words() {
        assert_eq!(completed("stack.gso=o"), ["stack.gso=off", "stack.gso=on"]);
        assert_eq!(completed("tap.qlog="), ["tap.qlog=true", "tap.qlog=false"]);
        assert_eq!(completed("tap.snaplen="), ["tap.snaplen=full"]);
        assert_eq!(completed("path.rate=4"), [""; 0]);
    }

    #[test]
    fn every_key_says_what_it_is() {
        assert!(candidates(OsStr::new("")).iter().all(|one| one.get_help().is_some()));
    }
}
