"""`ottla completion`: scripts for shells, and the words they ask for."""

from __future__ import annotations

import argparse
from typing import Final

from ottla.cli.completing import HIDDEN, candidates

EXAMPLES = """examples:
  eval "$(ottla completion bash)"                                    # in ~/.bashrc
  eval "$(ottla completion zsh)"                                     # in ~/.zshrc
  ottla completion fish > ~/.config/fish/completions/ottla.fish
Topics and groups are asked of the broker of the current context, which has a second to answer.
"""
_SCRIPTS: Final = {
    "bash": """_ottla() {
  local IFS=$'\\n'
  COMPREPLY=($(ottla completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  # Bash takes a:b for three words, of which it replaces the last.
  local typed="${COMP_LINE:0:COMP_POINT}"
  typed="${typed##*[[:space:]]}"
  if [[ $COMP_WORDBREAKS == *:* && $typed == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
  fi
}
complete -o default -F _ottla ottla
""",
    "zsh": """(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
_ottla() {
  local -a found
  found=("${(@f)$(ottla completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#}")
  if (( ${#found} )); then compadd -a found; else _files; fi
}
compdef _ottla ottla
""",
    "fish": """function __ottla_words
  set -l before (commandline -opc)
  ottla completion words $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c ottla -f -a '(__ottla_words)'
complete -c ottla -l from -rF
complete -c ottla -l to -rF
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=(*_SCRIPTS, HIDDEN), metavar="bash|zsh|fish")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Print the script, or what the last of the words may become."""
    if arguments.shell == HIDDEN:
        print("\n".join(candidates(arguments.words)))
    else:
        print(_SCRIPTS[arguments.shell], end="")
    return 0
