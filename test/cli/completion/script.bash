# For ~/.bashrc: eval "$(holdfast completion bash)"
_holdfast() {
  local line="${COMP_LINE:0:COMP_POINT}" word typed rest before at
  typed="${line##* }" rest="${line##* }"
  # Bash replaces only what is behind the last of these, as in URLs and key=@file.
  for at in : = @; do [[ $COMP_WORDBREAKS == *"$at"* ]] && rest="${rest##*"$at"}"; done
  before="${typed%"$rest"}"
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("${word#"$before"}")
  done < <("$1" complete-words bash "$line" 2>/dev/null)
}
complete -o default -F _holdfast holdfast
