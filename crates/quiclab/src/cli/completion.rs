//! Completion in shells, also of settings: `source <(COMPLETE=bash quiclab)`.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::Path,
};

use clap::{Command, CommandFactory as _};
use clap_complete::{
    CompleteEnv,
    env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh},
};

use super::{Cli, help::Shell};

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
pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let shell: &dyn EnvCompleter = match shell {
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
