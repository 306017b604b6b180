export const shells = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof shells)[number];

/** The command that the scripts call. It is not in the help. */
export const askedByShells = "complete-words";

/** The completion script for a shell. Falls back to file names if there are no candidates. */
export const scripts: Readonly<Record<Shell, string>> = {
  // Not `source <(…)`: the bash of macOS, version 3.2, reads nothing from it.
  bash: `# For ~/.bashrc: eval "$(holdfast completion bash)"
_holdfast() {
  local line="\${COMP_LINE:0:COMP_POINT}" word typed rest before at
  typed="\${line##* }" rest="\${line##* }"
  # Bash replaces only what is behind the last of these, as in URLs and key=@file.
  for at in : = @; do [[ $COMP_WORDBREAKS == *"$at"* ]] && rest="\${rest##*"$at"}"; done
  before="\${typed%"$rest"}"
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("\${word#"$before"}")
  done < <("$1" ${askedByShells} bash "$line" 2>/dev/null)
}
complete -o default -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
# For ~/.zshrc, after compinit: source <(holdfast completion zsh)
_holdfast() {
  local -a found
  found=("\${(@f)$("\${words[1]}" ${askedByShells} zsh "\${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then
    compadd -Q -- "\${found[@]}"
  else
    _files
  fi
}
compdef _holdfast holdfast
`,
  fish: `# For ~/.config/fish/completions/holdfast.fish
complete -c holdfast -f -a '(holdfast ${askedByShells} fish (commandline -cp | string collect); or __fish_complete_path (commandline -ct))'
`,
};
