#compdef holdfast
# For ~/.zshrc, after compinit: source <(holdfast completion zsh)
_holdfast() {
  local -a found
  found=("${(@f)$("${words[1]}" complete-words zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -Q -- "${found[@]}"
  else
    _files
  fi
}
compdef _holdfast holdfast
