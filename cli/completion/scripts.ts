import type { Place } from './tree.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A script that completes msgctl in a shell, without running msgctl. */
export function completionScript(shell: Shell, places: readonly Place[]): string {
  return { bash, zsh, fish }[shell](places);
}

/** A shell pattern of all commands, by which a script follows the words before the cursor. */
function walk(places: readonly Place[]): string {
  const known = places.filter(({ at }) => at !== '').map(({ at }) => `'${at}'`);
  return known.join('|');
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ at, next }) => `    '${at}') words='${next.map(({ word }) => word).join(' ')}' ;;`,
  );
  return `# msgctl in bash: msgctl completion bash > ~/.local/share/bash-completion/completions/msgctl
_msgctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at='' next words='' nth
  for ((nth = 1; nth < COMP_CWORD; nth++)); do
    next="\${at:+$at }\${COMP_WORDS[nth]}"
    case "$next" in
      ${walk(places)}) at="$next" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _msgctl msgctl
`;
}

function zsh(places: readonly Place[]): string {
  const cases = places.map(({ at, next }) => {
    const found = next.map(({ word, summary }) => `'${zshWord(word)}:${quoted(summary)}'`);
    return `    '${at}') found=(${found.join(' ')}) ;;`;
  });
  return `#compdef msgctl
# msgctl in zsh: msgctl completion zsh > a file _msgctl in a folder of $fpath
_msgctl() {
  local at='' next word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    case "$next" in
      ${walk(places)}) at="$next" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  _describe msgctl found || _files
}
if [[ "\${funcstack[1]}" == _msgctl ]]; then _msgctl "$@"; else compdef _msgctl msgctl; fi
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ at, next }) =>
    next.map(({ word, summary }) => {
      const where = `complete -c msgctl -n "__msgctl_at '${at}'"`;
      const told = summary === '' ? '' : ` -d '${quoted(summary)}'`;
      return word.startsWith('--')
        ? `${where} -l ${word.slice(2)}${told}`
        : `${where} -f -a '${word}'${told}`;
    }),
  );
  const known = places.filter(({ at }) => at !== '').map(({ at }) => `'${at}'`);
  return `# msgctl in fish: msgctl completion fish > ~/.config/fish/completions/msgctl.fish
function __msgctl_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        contains -- "$next" ${known.join(' ')}; and set at $next
    end
    test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** Makes a text safe inside single quotes; a summary is one line of plain text. */
function quoted(text: string): string {
  return text.replaceAll('\\', '').replaceAll("'", '’').replaceAll('\n', ' ');
}

/** Escapes colons, which would end the word. */
function zshWord(word: string): string {
  return word.replaceAll(':', '\\:');
}
